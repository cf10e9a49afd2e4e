package webclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"time"

	"github.com/itchyny/gojq"
)

const (
	maxProgram     = 8 << 10
	maxFilterTime  = 2 * time.Second
	maxFilterBytes = 1 << 20
	maxFilterDepth = 10_000 // as deep as encoding/json reads
	outputBytes    = 32     // what an output counts besides its text
)

// ErrNotJSON is what [Filter.Apply] gives for text that is not one JSON value.
var ErrNotJSON = errors.New("the text is not valid JSON")

var errFilterOutput = fmt.Errorf("the filter's output is larger than %d bytes or too deep", maxFilterBytes)

// Filter is a jq program, compiled once; it is safe for concurrent use. It sees
// its input and nothing else: no environment, no files, no further inputs.
type Filter struct{ code *gojq.Code }

// CompileFilter compiles a jq program of at most 8 KiB.
func CompileFilter(program string) (*Filter, error) {
	if len(program) > maxProgram {
		return nil, fmt.Errorf("the jq program is longer than %d bytes", maxProgram)
	}
	query, err := gojq.Parse(program)
	if err != nil {
		return nil, fmt.Errorf("jq: %w", err)
	}
	product, err := boundedProduct()
	if err != nil {
		return nil, err
	}
	if err := boundProducts(reflect.ValueOf(query)); err != nil {
		return nil, err
	}
	code, err := gojq.Compile(query, gojq.WithFunction(productName, 2, 2, product))
	if err != nil {
		return nil, fmt.Errorf("jq: %w", err)
	}
	return &Filter{code: code}, nil
}

// Apply runs the program on one JSON text and gives its outputs as compact
// JSON. Numbers that the program only passes on keep every digit. It ends
// after two seconds, and with an error when the outputs exceed 1 MiB.
func (f *Filter) Apply(ctx context.Context, text string) ([]json.RawMessage, error) {
	input, err := parseJSON(text)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, maxFilterTime)
	defer cancel()
	var outputs []json.RawMessage
	w := boundedJSON{left: maxFilterBytes}
	for it := f.code.RunWithContext(ctx, input); ; {
		v, ok := it.Next()
		if !ok {
			return outputs, nil
		}
		if err, failed := v.(error); failed {
			var halt *gojq.HaltError
			if errors.As(err, &halt) && halt.Value() == nil {
				return outputs, nil
			}
			if errors.Is(err, context.DeadlineExceeded) {
				return nil, fmt.Errorf("the filter did not end within %s: %w", maxFilterTime, err)
			}
			return nil, fmt.Errorf("the filter failed: %w", err)
		}
		w.left -= outputBytes
		out, err := w.append(nil, v, 0)
		if err != nil {
			return nil, err
		}
		outputs = append(outputs, out)
	}
}

func parseJSON(text string) (any, error) {
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, ErrNotJSON
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, ErrNotJSON
	}
	return v, nil
}

// productName is the function that stands in for jq's operator "*".
const productName = "_bounded_product"

// boundProducts replaces every multiplication in a program. jq multiplies a
// text by repeating it, which one number in an answer could make two gigabytes
// long within one step that no deadline interrupts.
func boundProducts(v reflect.Value) error {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		if q, ok := v.Interface().(*gojq.Query); ok {
			switch q.Op {
			case gojq.OpUpdateMul:
				return errors.New(`jq: "*=" is not available; write "|= . * x"`)
			case gojq.OpMul:
				call := &gojq.Func{Name: productName, Args: []*gojq.Query{q.Left, q.Right}}
				q.Left, q.Right, q.Op = nil, nil, 0
				q.Term = &gojq.Term{Type: gojq.TermTypeFunc, Func: call}
			}
		}
		return boundProducts(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if err := boundProducts(v.Field(i)); err != nil {
				return err
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			if err := boundProducts(v.Index(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// boundedProduct is "*" for everything but texts.
func boundedProduct() (func(any, []any) any, error) {
	query, err := gojq.Parse(".[0] * .[1]")
	if err != nil {
		return nil, err
	}
	code, err := gojq.Compile(query)
	if err != nil {
		return nil, err
	}
	return func(_ any, factors []any) any {
		for _, f := range factors {
			if _, isText := f.(string); isText {
				return errors.New("text cannot be multiplied here")
			}
		}
		v, _ := code.Run([]any{factors[0], factors[1]}).Next()
		return v
	}, nil
}

// boundedJSON writes values of gojq as JSON until its bound is reached. A small
// value can be huge when written, because parts of it may be shared.
type boundedJSON struct{ left int }

func (w *boundedJSON) append(b []byte, v any, depth int) ([]byte, error) {
	if depth > maxFilterDepth {
		return nil, errFilterOutput
	}
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			var err error
			if b, err = w.append(append(b, separator(i, '[')), item, depth+1); err != nil {
				return nil, err
			}
		}
		return w.close(b, len(v), "[]")
	case map[string]any:
		for i, key := range slices.Sorted(maps.Keys(v)) {
			var err error
			if b, err = w.scalar(append(b, separator(i, '{')), key); err != nil {
				return nil, err
			}
			if b, err = w.append(append(b, ':'), v[key], depth+1); err != nil {
				return nil, err
			}
		}
		return w.close(b, len(v), "{}")
	default:
		return w.scalar(b, v)
	}
}

func separator(i int, open byte) byte {
	if i == 0 {
		return open
	}
	return ','
}

func (w *boundedJSON) close(b []byte, items int, brackets string) ([]byte, error) {
	if w.left -= items + len(brackets); w.left < 0 {
		return nil, errFilterOutput
	}
	if items == 0 {
		return append(b, brackets...), nil
	}
	return append(b, brackets[1]), nil
}

func (w *boundedJSON) scalar(b []byte, v any) ([]byte, error) {
	if n, isBig := v.(*big.Int); isBig && n.BitLen() > 4*maxFilterBytes {
		return nil, errFilterOutput // printing it would take longer than anybody waits
	}
	text, err := gojq.Marshal(v)
	if err != nil {
		return nil, err
	}
	if w.left -= len(text); w.left < 0 {
		return nil, errFilterOutput
	}
	return append(b, text...), nil
}
