// Package httpreq makes tools of http entries: one request per call, built from
// the entry's templates and the call's arguments.
//
// Start reading at [New]. url.go expands RFC 6570 templates so that no argument
// can change where a request goes, args.go reads arguments, request.go puts
// headers, query and bodies together; [webclient.Client.Ask] says what the model reads.
package httpreq
