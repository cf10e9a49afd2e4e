// Package style writes values as an OpenAPI document says: parameters in their
// styles, bodies by their media types. Values keep what they are: numbers have every
// digit that the model wrote.
//
// Start with [Parameter.Write] and [Body.Write].
package style
