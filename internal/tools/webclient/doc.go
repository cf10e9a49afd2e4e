// Package webclient is the one way in which tools talk HTTP: a client that
// decides for every connection whether its address may be reached, follows
// redirects by its own rules, and bounds whatever a server sends.
//
// Start reading at [Client.Do]. guard.go holds the address tables, redirect.go
// the rules for redirects and credentials, body.go and charset.go turn bytes
// into text, and filter.go runs jq programs on answers.
package webclient
