// Package openapi makes tools of openapi entries: one for each operation of an
// OpenAPI document.
//
// Start reading at [New] and [Toolset.Tools]. A document goes this way: package
// document reads it as text, api.go has the parser read what is not a schema,
// operation.go chooses and names the operations, arguments.go decides what the model
// is asked for, and tool.go makes a request of what it says: package style writes
// parameters and bodies, security.go adds credentials.
package openapi
