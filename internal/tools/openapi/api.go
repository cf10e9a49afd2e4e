package openapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/adkmcp/adkmcp/internal/tools/openapi/document"
)

// api is a document that has been read.
type api struct {
	text *document.Document
	// doc holds everything but the schemas, in whose places stand their numbers.
	doc     *openapi3.T
	schemas []document.Value
	order   []endpoint
}

// endpoint is a path and a method that the document has an operation for.
type endpoint struct{ path, method string }

// numbered is the extension that holds the number of a schema.
const numbered = "x-schema-number"

// parse reads a document. The parser gets only the parts that tools need: it takes
// several seconds and hundreds of megabytes for a large document, and knows less of
// the schemas of OpenAPI 3.1 than there is to know.
func parse(data []byte) (*api, error) {
	text, err := document.Parse(data)
	if err != nil {
		return nil, err
	}
	a := &api{text: text, doc: &openapi3.T{}}
	short, err := a.shorten(nil, text.Root, rootShape())
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(short, a.doc); err != nil {
		return nil, fmt.Errorf("is not valid: %w", err)
	}
	if err := openapi3.NewLoader().ResolveRefsIn(a.doc, nil); err != nil {
		return nil, fmt.Errorf("is not valid: %w", err)
	}
	a.order = endpoints(text)
	return a, nil
}

// endpoints lists the operations in the order of the document.
func endpoints(text *document.Document) []endpoint {
	var list []endpoint
	seen := map[endpoint]bool{}
	for path, item := range text.Root.Get("paths").Members() {
		if !strings.HasPrefix(path, "/") {
			continue
		}
		for name := range text.Follow(item).Members() {
			if !slices.Contains([]string{"get", "put", "post", "delete", "options", "head", "patch"}, name) {
				continue
			}
			if e := (endpoint{path, strings.ToUpper(name)}); !seen[e] {
				seen[e] = true
				list = append(list, e)
			}
		}
	}
	return list
}

// shape says what of a value the parser gets: certain members, every member or
// item, all of it (the zero value), or a number instead of a schema.
type shape struct {
	members map[string]shape
	each    *shape
	schema  bool
	follow  bool // what it refers to stands in its place
}

func some(members map[string]shape, whole ...string) shape {
	for _, name := range whole {
		members[name] = shape{}
	}
	return shape{members: members}
}

func every(s shape) shape { return shape{each: &s} }

func rootShape() shape {
	schema := shape{schema: true}
	encoding := some(map[string]shape{}, "contentType", "style", "explode", "allowReserved")
	content := every(some(map[string]shape{"schema": schema, "encoding": every(encoding)}))
	parameter := some(map[string]shape{"schema": schema, "content": content},
		"name", "in", "description", "required", "deprecated", "style", "explode", "allowReserved")
	body := some(map[string]shape{"content": content}, "description", "required")
	server := some(map[string]shape{"variables": every(some(map[string]shape{}, "default"))}, "url")
	operation := some(map[string]shape{"parameters": every(parameter), "requestBody": body, "servers": every(server)},
		"operationId", "summary", "description", "tags", "deprecated", "security")
	item := some(map[string]shape{"parameters": every(parameter), "servers": every(server)}, "summary", "description")
	for _, method := range []string{"get", "put", "post", "delete", "options", "head", "patch"} {
		item.members[method] = operation
	}
	item.follow = true
	scheme := some(map[string]shape{}, "type", "name", "in", "scheme")
	components := some(map[string]shape{"parameters": every(parameter), "requestBodies": every(body), "securitySchemes": every(scheme)})
	return some(map[string]shape{"paths": every(item), "components": components, "servers": every(server)}, "openapi", "security")
}

// shorten appends the part of a value that its shape asks for. A value of another
// kind than the shape is left to the parser.
func (a *api) shorten(b []byte, v document.Value, s shape) ([]byte, error) {
	switch {
	case s.members == nil && s.each == nil, !v.IsObject() && !v.IsList():
		return append(b, v...), nil
	case v.IsList() && s.each != nil:
		b = append(b, '[')
		for item := range v.Items() {
			var err error
			if b, err = a.shorten(comma(b, '['), item, *s.each); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	case v.IsList():
		return append(b, v...), nil
	}
	if ref := v.Get("$ref"); s.members != nil && ref.IsText() {
		if !s.follow {
			return append(append(append(b, `{"$ref":`...), ref...), '}'), nil
		}
		if v = a.text.Follow(v); v == nil {
			return nil, fmt.Errorf("the reference %q leads nowhere", ref.Text())
		}
	}
	b = append(b, '{')
	for name, member := range v.Members() {
		of, wanted := s.members[name]
		if s.each != nil {
			of, wanted = *s.each, !s.each.follow || strings.HasPrefix(name, "/") // beside paths stand extensions
		}
		switch {
		case !wanted:
			continue
		case of.schema:
			name, member = numbered, a.number(member)
			of = shape{}
		}
		quoted, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		b = append(append(comma(b, '{'), quoted...), ':')
		if b, err = a.shorten(b, member, of); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// comma separates what follows from what stands before, if anything does.
func comma(b []byte, open byte) []byte {
	if b[len(b)-1] != open {
		b = append(b, ',')
	}
	return b
}

func (a *api) number(schema document.Value) document.Value {
	a.schemas = append(a.schemas, schema)
	return fmt.Appendf(nil, "%d", len(a.schemas)-1)
}

// schema gives the schema that the parser was given the number of, nil for none.
func (a *api) schema(extensions map[string]any) document.Value {
	n, ok := extensions[numbered].(float64)
	if !ok || n < 0 || int(n) >= len(a.schemas) {
		return nil
	}
	return a.schemas[int(n)]
}

// operation gives what the document says of an endpoint, with the parameters of its
// path and its own, of which the latter win.
func (a *api) operation(e endpoint) (*openapi3.Operation, []*openapi3.Parameter, error) {
	item := a.doc.Paths.Value(e.path)
	if item == nil || item.GetOperation(e.method) == nil {
		return nil, nil, errors.New("is not an operation")
	}
	op := item.GetOperation(e.method)
	var list []*openapi3.Parameter
	for _, refs := range []openapi3.Parameters{item.Parameters, op.Parameters} {
		for _, ref := range refs {
			if ref == nil || ref.Value == nil {
				return nil, nil, errors.New("has a parameter that is not there")
			}
			p := ref.Value
			i := slices.IndexFunc(list, func(other *openapi3.Parameter) bool { return other.Name == p.Name && other.In == p.In })
			if i >= 0 {
				list[i] = p
				continue
			}
			list = append(list, p)
		}
	}
	if op.RequestBody != nil && op.RequestBody.Value == nil {
		return nil, nil, errors.New("has a body that is not there")
	}
	if op.Servers == nil && len(item.Servers) > 0 {
		own := *op
		own.Servers = &item.Servers
		op = &own
	}
	return op, list, nil
}
