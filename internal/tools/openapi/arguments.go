package openapi

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/adkmcp/adkmcp/internal/tools/openapi/document"
	"github.com/adkmcp/adkmcp/internal/tools/openapi/style"
	"github.com/adkmcp/adkmcp/internal/tools/webclient"
)

// maxArgument is how long the name of an argument may be; models take no more.
const maxArgument = 64

// planner decides what the model is asked for, and where that goes in a request.
type planner struct {
	*builder
	tool       *tool
	taken      map[string]bool // the names of arguments
	properties []document.Property
}

// argument asks the model for a value; the name that it gets is the one that is
// wanted as far as models take it.
func (p *planner) argument(name, suffix string, schema *document.Schema, required bool) string {
	name = unique(p.taken, argumentName(name), suffix, maxArgument)
	p.properties = append(p.properties, document.Property{Name: name, Schema: schema, Required: required})
	return name
}

func argumentName(name string) string {
	name = valid(name, "_.-")
	if name == "" {
		name = "value"
	}
	return shortened(name, maxArgument)
}

// piece is a part of a path: a text that is encoded, or a parameter.
type piece struct {
	text  string
	param *style.Parameter
}

// path plans the parameters of an operation. It gives the path, and the query that
// some documents write into it.
func (p *planner) path(template string, params []*openapi3.Parameter) (path []piece, query string, err error) {
	template, _, _ = strings.Cut(template, "#")
	template, query, _ = strings.Cut(template, "?")
	if strings.Contains(query, "{") {
		return nil, "", errors.New("its path has a parameter in a query")
	}
	inPath := map[string]*style.Parameter{}
	for _, v := range params {
		if p.ignores(v) || v.In == "path" && !strings.Contains(template, "{"+v.Name+"}") {
			continue
		}
		made, err := p.parameter(v)
		if err != nil {
			return nil, "", fmt.Errorf("parameter %q: %w", document.Clean(v.Name, maxArgument), err)
		}
		if v.In == "path" {
			inPath[v.Name] = made
		} else {
			p.tool.params = append(p.tool.params, made)
		}
	}
	for rest := template; rest != ""; {
		text, after, place := strings.Cut(rest, "{")
		if text != "" {
			path = append(path, piece{text: webclient.Escape(text, webclient.Reserved+"%")})
		}
		if !place {
			break
		}
		name, after, closed := strings.Cut(after, "}")
		if !closed {
			return nil, "", errors.New(`its path has a "{" without its "}"`)
		}
		if inPath[name] == nil { // the document has forgotten to declare it
			if inPath[name], err = p.parameter(&openapi3.Parameter{Name: name, In: "path"}); err != nil {
				return nil, "", err
			}
		}
		path, rest = append(path, piece{param: inPath[name]}), after
	}
	return path, webclient.Escape(query, webclient.Reserved+"%"), nil
}

// ignores reports whether the model has no say in a parameter: the specification
// ignores three headers, others are the client's own, and some are set by the agent
// file.
func (p *planner) ignores(v *openapi3.Parameter) bool {
	switch v.In {
	case "header":
		name := http.CanonicalHeaderKey(v.Name)
		return name == "Accept" || name == "Content-Type" || name == "Authorization" || name == "Cookie" ||
			webclient.ReservedHeader(name) || p.headers[name] != "" || p.tool.sign.sets("header", name)
	case "query":
		return p.tool.sign.sets(v.In, v.Name)
	case "cookie":
		return p.tool.given(v.In, v.Name)
	}
	return v.In != "path"
}

func (p *planner) parameter(v *openapi3.Parameter) (*style.Parameter, error) {
	made := &style.Parameter{Name: v.Name, In: v.In, Style: v.Style, Reserved: v.AllowReserved, Required: v.Required || v.In == "path"}
	if v.Name == "" {
		return nil, errors.New("has no name")
	}
	if err := checkName(v.In, v.Name); err != nil {
		return nil, err
	}
	made.Defaults(v.Explode)
	schema := p.api.schema(v.Extensions)
	if types := sortedKeys(v.Content); len(types) > 0 { // there is one
		made.JSON = style.IsJSON(types[0])
		if media := v.Content[types[0]]; media != nil {
			schema = p.api.schema(media.Extensions)
		}
	}
	converted, err := p.schemas.Convert(schema, document.Note{Description: v.Description, Deprecated: v.Deprecated})
	if err != nil {
		return nil, err
	}
	made.Argument = p.argument(v.Name, v.In, converted, made.Required)
	return made, nil
}

// body plans the body of a request.
func (p *planner) body(v *openapi3.RequestBody) error {
	mediaType := preferred(v.Content)
	if mediaType == "" {
		return nil
	}
	media := v.Content[mediaType]
	if media == nil {
		media = &openapi3.MediaType{}
	}
	b := &style.Body{Kind: style.KindOf(mediaType), MediaType: mediaType, Required: v.Required}
	if strings.Contains(mediaType, "*") {
		b.MediaType = map[style.Kind]string{style.JSON: "application/json", style.Text: "text/plain", style.Binary: "application/octet-stream"}[b.Kind]
	}
	p.tool.body = b
	schema := p.api.schema(media.Extensions)
	if b.Kind == style.Text || b.Kind == style.Binary {
		return p.whole(b, textSchema(b.Kind == style.Binary), v.Description)
	}
	b.Encodings = map[string]style.Encoding{}
	members, plain := p.api.text.Members(schema)
	for _, m := range members {
		b.Encodings[m.Name] = p.encoding(m, media.Encoding[m.Name], b.Kind)
	}
	for name, e := range media.Encoding {
		if _, known := b.Encodings[name]; !known {
			b.Encodings[name] = p.encoding(document.Member{}, e, b.Kind)
		}
	}
	if !plain || p.collides(members) {
		return p.whole(b, schema, v.Description)
	}
	for _, m := range members {
		converted, err := p.member(m, b.Encodings[m.Name])
		if err != nil {
			return fmt.Errorf("body: %s: %w", m.Name, err)
		}
		b.Fields = append(b.Fields, style.Field{Argument: p.argument(m.Name, "", converted, m.Required && b.Required), Name: m.Name})
	}
	return nil
}

// whole asks for the body as one argument.
func (p *planner) whole(b *style.Body, schema document.Value, description string) error {
	converted, err := p.schemas.Convert(schema, document.Note{Description: description})
	if err != nil {
		return fmt.Errorf("body: %w", err)
	}
	b.Whole = p.argument("body", "", converted, b.Required)
	return nil
}

// collides reports whether properties of a body cannot stand beside the parameters.
func (p *planner) collides(members []document.Member) bool {
	names := map[string]bool{}
	for _, m := range members {
		name := argumentName(m.Name)
		if p.taken[name] || names[name] {
			return true
		}
		names[name] = true
	}
	return false
}

func (p *planner) member(m document.Member, e style.Encoding) (*document.Schema, error) {
	if e.Base64 {
		schema := textSchema(true)
		if e.List {
			schema = document.Value(`{"type":"array","items":` + string(schema) + `}`)
		}
		return p.schemas.Convert(schema, document.Note{Description: p.api.text.Follow(m.Schemas[0]).Get("description").Text()})
	}
	var list []*document.Schema
	for _, v := range m.Schemas {
		converted, err := p.schemas.Convert(v, document.Note{})
		if err != nil {
			return nil, err
		}
		list = append(list, converted)
	}
	return document.All(list), nil
}

// textSchema is for a body, or a part of one, that is not JSON.
func textSchema(binary bool) document.Value {
	if binary {
		return document.Value(`{"type":"string","contentEncoding":"base64"}`)
	}
	return document.Value(`{"type":"string"}`)
}

// encoding says how a member of a form is written.
func (p *planner) encoding(m document.Member, e *openapi3.Encoding, kind style.Kind) style.Encoding {
	made := style.Encoding{}
	if e != nil {
		made.ContentType, _, _ = strings.Cut(e.ContentType, ",")
		if strings.Contains(made.ContentType, "*") {
			made.ContentType = ""
		}
		if e.Style != "" || e.Explode != nil || e.AllowReserved {
			made.Styled = &style.Parameter{In: "query", Style: e.Style, Reserved: e.AllowReserved}
			made.Styled.Defaults(e.Explode)
		}
	}
	if kind != style.Multipart || len(m.Schemas) == 0 {
		return made
	}
	schema := p.api.text.Follow(m.Schemas[0])
	if schema.Get("type").Text() == "array" {
		made.List, schema = true, p.api.text.Follow(schema.Get("items"))
	}
	made.Base64 = binary(schema, made.ContentType)
	return made
}

// binary reports whether a value is bytes, as 3.0 and as 3.1 say it.
func binary(schema document.Value, contentType string) bool {
	if schema.Get("format").Text() == "binary" {
		return true
	}
	mediaType := schema.Get("contentMediaType").Text()
	if mediaType == "" && schema.Get("type") == nil && schema.Get("properties") == nil {
		mediaType = contentType
	}
	return mediaType != "" && schema.Get("contentEncoding") == nil && style.KindOf(mediaType) == style.Binary
}

// preferred picks the media type of a body, of those that can be written the one
// that keeps most of what the model says.
func preferred(content openapi3.Content) string {
	types := sortedKeys(content)
	for _, kind := range []style.Kind{style.JSON, style.Form, style.Multipart, style.Text, style.Binary} {
		if kind == style.JSON && slices.Contains(types, "application/json") {
			return "application/json"
		}
		if i := slices.IndexFunc(types, func(t string) bool { return style.KindOf(t) == kind }); i >= 0 {
			return types[i]
		}
	}
	return ""
}
