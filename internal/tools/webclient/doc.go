// Package webclient is the one way in which tools talk HTTP: a client that
// decides for every connection whether its address may be reached, follows
// redirects by its own rules, and bounds whatever a server sends.
//
// Start reading at [Client.Do], and at [Client.Ask], which puts the answer into
// words for the model. guard.go holds the address tables, redirect.go the rules for
// redirects and credentials, body.go and charset.go turn bytes into text, filter.go
// runs jq programs on answers, request.go and multipart.go help to make requests,
// and secrets.go hides what the model must not read.
package webclient
