// Package strictyaml reads YAML and JSON into Go structs and says everything
// that is wrong, each with its place in the file; and it describes the same
// structs in JSON Schema.
//
// Start with [Decoder]. A file goes three ways in a row: [Parse] reads bytes into
// a tree of [Node] values and guards against what the YAML library lets through
// (parse.go, build.go); the tree is walked together with the Go type, and a shape
// for each kind of type (shape.go, struct.go) reads its part of it; a type of
// another form than its Go type implements [Value] (decode.go). [Decoder.Schema]
// takes the same walk without a tree: each shape also describes itself.
//
// The only YAML that is understood is the core schema of YAML 1.2, with merge
// keys. What an older reader would take for something else than text has to be
// quoted.
package strictyaml
