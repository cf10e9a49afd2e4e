package jsonschema

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// ErrElsewhere is the error of a schema that refers to what is outside of it.
var ErrElsewhere = errors.New("a schema may refer to parts of itself only")

// Where a schema stands for the library. References are resolved against it.
const (
	outside  = "schema:///"
	location = outside + "root"
)

// noLoader keeps schemas from reaching for files and addresses.
type noLoader struct{}

// Load implements jsonschema.URLLoader.
func (noLoader) Load(string) (any, error) { return nil, ErrElsewhere }

// Invalid is the error of a schema that JSON Schema does not allow.
type Invalid struct {
	Places []Place // at least one, sorted
}

// Place is one in a schema that is not valid.
type Place struct {
	At     []string // the keys and indexes that lead to it
	Reason string   // the first of several
}

// Error names all places.
func (e *Invalid) Error() string {
	schema := &Options{Whole: "the schema"}
	var lines []string
	for _, p := range e.Places {
		lines = append(lines, schema.subject(p.At)+": "+p.Reason)
	}
	return bounded(lines)
}

// unusable is the error of a schema that does not compile.
func unusable(err error) error {
	var schema *jsonschema.SchemaValidationError
	var load *jsonschema.LoadURLError
	var invalid *jsonschema.ValidationError
	switch {
	case errors.As(err, &schema) && errors.As(schema.Err, &invalid):
		return &Invalid{places(invalid)}
	case errors.As(err, &load):
		return fmt.Errorf("%w, not to %s", ErrElsewhere, clip(strings.TrimPrefix(load.URL, outside)))
	}
	return errors.New(strings.ReplaceAll(err.Error(), location, ""))
}

// places gives those where something is wrong, without those around them.
func places(e *jsonschema.ValidationError) []Place {
	reasons := map[string]*jsonschema.ValidationError{}
	collectReasons(e, reasons)
	around := map[string]bool{}
	for place := range reasons {
		for i := strings.LastIndexByte(place, '/'); i >= 0; i = strings.LastIndexByte(place, '/') {
			place = place[:i]
			around[place] = true
		}
	}
	p := message.NewPrinter(language.English)
	var all []Place
	for _, place := range slices.Sorted(maps.Keys(reasons)) {
		if e := reasons[place]; !around[place] {
			all = append(all, Place{e.InstanceLocation, e.ErrorKind.LocalizedString(p)})
		}
	}
	return all
}

// collectReasons keeps the first reason for each place.
func collectReasons(e *jsonschema.ValidationError, reasons map[string]*jsonschema.ValidationError) {
	for _, cause := range e.Causes {
		collectReasons(cause, reasons)
	}
	place := strings.Join(e.InstanceLocation, "/")
	if len(e.Causes) == 0 && reasons[place] == nil {
		reasons[place] = e
	}
}

// outOfRange refuses a schema with numbers that the library would fail at, even
// while it sees whether the schema is valid.
func outOfRange(doc any) error {
	var e Invalid
	eachHuge(doc, nil, func(at []string, n json.Number) {
		e.Places = append(e.Places, Place{slices.Clone(at), tooFar(n)})
	})
	if len(e.Places) == 0 {
		return nil
	}
	slices.SortFunc(e.Places, func(a, b Place) int { return cmp.Or(slices.Compare(a.At, b.At), cmp.Compare(a.Reason, b.Reason)) })
	return &e
}
