package strictyaml

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// shape is one node of the walk over the Go types: how a type is read, and in
// what words a schema says the same.
type shape interface {
	decode(c *Cursor, v reflect.Value)
	schema(g *Generator) Object
}

var (
	valueType = reflect.TypeFor[Value]()
	rawType   = reflect.TypeFor[json.RawMessage]()
	bytesType = reflect.TypeFor[[]byte]()
)

// shapeOf gives the shape of a type; tag is that of the field which holds it.
func (d *Decoder) shapeOf(t reflect.Type, tag reflect.StructTag) shape {
	switch {
	case reflect.PointerTo(t).Implements(valueType):
		return valueShape{t}
	case t == rawType || t == bytesType:
		return jsonShape{t}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return pointerShape{d.shapeOf(t.Elem(), tag)}
	case reflect.String:
		return textShape{tag}
	case reflect.Bool:
		return boolShape{}
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Float32, reflect.Float64:
		return numberShape{t.Kind(), tag}
	case reflect.Struct:
		return d.structOf(t)
	case reflect.Map:
		return mapShape{d.shapeOf(t.Elem(), "")}
	case reflect.Slice:
		if tag.Get("entries") == "true" {
			return entriesShape{d.shapeOf(t.Elem(), "")}
		}
		return listShape{d.shapeOf(t.Elem(), tag)}
	}
	return jsonShape{t}
}

type valueShape struct{ t reflect.Type }

func (s valueShape) decode(c *Cursor, v reflect.Value) { v.Addr().Interface().(Value).DecodeYAML(c) }
func (s valueShape) schema(g *Generator) Object {
	return reflect.New(s.t).Interface().(Value).DescribeYAML(g)
}

type pointerShape struct{ elem shape }

func (s pointerShape) decode(c *Cursor, v reflect.Value) {
	v.Set(reflect.New(v.Type().Elem()))
	s.elem.decode(c, v.Elem())
}
func (s pointerShape) schema(g *Generator) Object { return s.elem.schema(g) }

type textShape struct{ tag reflect.StructTag }

func (s textShape) decode(c *Cursor, v reflect.Value) {
	text, ok := c.Text()
	if !ok {
		return
	}
	v.SetString(text)
	if s.tag == "" {
		return
	}
	why := s.tag.Get("why")
	if enum := strings.Split(s.tag.Get("enum"), ","); enum[0] != "" && !slices.Contains(enum, text) {
		v.SetString("")
		c.Errorf(cmp.Or(didYouMean(text, enum), why), "want %s, not %s", oneOf(enum), quote(c.node.Text))
	}
	if p := s.tag.Get("pattern"); p != "" && !c.decoder.pattern(p).MatchString(text) {
		c.Errorf(why, "want %s, not %s", s.tag.Get("form"), quote(c.node.Text))
	}
	if most, err := strconv.Atoi(s.tag.Get("max")); err == nil && utf8.RuneCountInString(text) > most {
		c.Errorf(why, "has %d characters, the most is %d", utf8.RuneCountInString(text), most)
	}
}

func (s textShape) schema(*Generator) Object {
	o := Object{{"type", "string"}}
	if enum := s.tag.Get("enum"); enum != "" {
		o = append(o, Member{"enum", strings.Split(enum, ",")})
	}
	if p := s.tag.Get("pattern"); p != "" {
		o = append(o, Member{"pattern", p})
	}
	if most := s.tag.Get("max"); most != "" {
		o = append(o, Member{"maxLength", json.Number(most)})
	}
	return o
}

type boolShape struct{}

func (boolShape) decode(c *Cursor, v reflect.Value) {
	n, ok := c.Scalar("true or false")
	if ok && n.class() != Bool {
		c.Not("true or false")
	}
	v.SetBool(ok && strings.EqualFold(n.Text, "true"))
}
func (boolShape) schema(*Generator) Object { return Object{{"type", "boolean"}} }

type numberShape struct {
	kind reflect.Kind
	tag  reflect.StructTag
}

func (s numberShape) whole() bool { return s.kind != reflect.Float32 && s.kind != reflect.Float64 }

func (s numberShape) decode(c *Cursor, v reflect.Value) {
	want := "a number in plain digits"
	if s.whole() {
		want = "a whole number in plain digits"
	}
	n, ok := c.Scalar(want)
	if !ok {
		return
	}
	class := n.class()
	if class != Int && class != Float || s.whole() && !decimal(n.Text) || !json.Valid([]byte(n.Text)) {
		c.Not(want)
		return
	}
	f, err := strconv.ParseFloat(n.Text, 64)
	if bound := s.bound(f); bound != "" || err != nil || !s.set(v, n.Text, f) {
		c.Errorf(bound, "%s is out of range", c.node.Text)
	}
}

// bound says which bound a number breaks, if it does.
func (s numberShape) bound(f float64) string {
	low, high := s.tag.Get("min"), s.tag.Get("max")
	if least, err := strconv.ParseFloat(low, 64); err == nil && f < least {
		return "the least is " + low
	}
	if most, err := strconv.ParseFloat(high, 64); err == nil && f > most {
		return "the most is " + high
	}
	return ""
}

// set puts a number into v, if it fits in.
func (s numberShape) set(v reflect.Value, text string, f float64) bool {
	if !s.whole() {
		v.SetFloat(f)
		return !v.OverflowFloat(f)
	}
	i, err := strconv.ParseInt(text, 10, 64)
	v.SetInt(i)
	return err == nil && !v.OverflowInt(i)
}

func (s numberShape) schema(*Generator) Object {
	o := Object{{"type", "number"}}
	if s.whole() {
		o[0].Value = "integer"
	}
	if low := s.tag.Get("min"); low != "" {
		o = append(o, Member{"minimum", json.Number(low)})
	}
	if high := s.tag.Get("max"); high != "" {
		o = append(o, Member{"maximum", json.Number(high)})
	}
	return o
}

// jsonShape is whatever has a JSON form: JSON as it was written, values of Go's
// own types with numbers as json.Number, bytes in base64.
type jsonShape struct{ t reflect.Type }

func (s jsonShape) decode(c *Cursor, v reflect.Value) {
	raw, ok := c.JSON()
	if !ok {
		return
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(v.Addr().Interface()) != nil {
		c.Errorf("", "is not of the form that is wanted here")
	}
}

func (s jsonShape) schema(*Generator) Object {
	if s.t == bytesType {
		return Object{{"type", "string"}, {"contentEncoding", "base64"}}
	}
	return Object{}
}

type listShape struct{ elem shape }

func (s listShape) decode(c *Cursor, v reflect.Value) {
	if c.node.Kind != List {
		c.Wrong("a list")
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(c.node.Items), len(c.node.Items)))
	for i, item := range c.node.Items {
		s.elem.decode(&Cursor{decoder: c.decoder, node: item, path: c.path.Index(i), env: c.env}, v.Index(i))
	}
}
func (s listShape) schema(g *Generator) Object {
	return Object{{"type", "array"}, {"items", s.elem.schema(g)}}
}

type mapShape struct{ elem shape }

func (s mapShape) decode(c *Cursor, v reflect.Value) {
	pairs := c.Pairs("a mapping")
	v.Set(reflect.MakeMapWithSize(v.Type(), len(pairs)))
	for _, p := range pairs {
		e := reflect.New(v.Type().Elem()).Elem()
		s.elem.decode(p, e)
		v.SetMapIndex(reflect.ValueOf(p.Key()), e)
	}
}
func (s mapShape) schema(g *Generator) Object {
	return Object{{"type", "object"}, {"additionalProperties", s.elem.schema(g)}}
}

// entriesShape is a mapping whose order is kept.
type entriesShape struct{ elem shape }

func (s entriesShape) decode(c *Cursor, v reflect.Value) {
	pairs := c.Pairs("a mapping")
	v.Set(reflect.MakeSlice(v.Type(), len(pairs), len(pairs)))
	for i, p := range pairs {
		s.elem.decode(p, v.Index(i))
	}
}
func (s entriesShape) schema(g *Generator) Object { return mapShape(s).schema(g) }

// oneOf lists texts as a message does: a, b or c.
func oneOf(texts []string) string {
	if n := len(texts) - 1; n > 0 {
		return fmt.Sprintf("%s or %s", strings.Join(texts[:n], ", "), texts[n])
	}
	return strings.Join(texts, "")
}
