// Package document reads OpenAPI documents as text: JSON values in their order and
// with every digit, local references between them, and their schemas as JSON Schema
// of 2020-12. Nothing in here contacts anybody.
//
// Start with [Parse], then read [Schemas.Parameters]. value.go finds its way in a
// document without building a tree of it, since documents have many megabytes of
// which little is needed; yaml.go turns YAML into JSON; schema.go and keyword.go
// convert schemas; object.go takes them apart.
package document
