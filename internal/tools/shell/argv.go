package shell

import (
	"github.com/adkmcp/adkmcp/internal/config/template"
)

// endOfOptions is the argument after which programs take nothing for an
// option.
const endOfOptions = "--"

// argv gives the program and its arguments; for a script, its interpreter.
//
// An element that is just the place of a list becomes one argument per item.
// An element with a place whose argument is absent is left out as a whole, so
// that --since={since} appears only when there is something to say.
func (t *tool) argv(args values) ([]string, error) {
	command := t.shell.Command
	if t.shell.Script != "" {
		command = t.shell.Interpreter
	}
	var argv []string
	options := true
	for _, element := range command {
		texts, err := expand(element, args)
		if err != nil {
			return nil, err
		}
		if options {
			if err := refuseOption(element, texts, args); err != nil {
				return nil, err
			}
		}
		argv = append(argv, texts...)
		if len(element.Places()) == 0 && texts[0] == endOfOptions {
			options = false
		}
	}
	return argv, nil
}

// expand gives the arguments that an element stands for.
func expand(element template.Text, args values) ([]string, error) {
	for _, place := range element.Places() {
		if _, ok := args[place]; !ok {
			return nil, nil
		}
	}
	if name, ok := element.Only(); ok && args[name].isList() {
		return args[name].items(name)
	}
	text, err := element.Expand(func(place string) (string, error) {
		if args[place].isList() {
			return "", refuse("argument %q must not be a list: it stands inside of a longer text", place)
		}
		return args[place].text(place)
	})
	if err != nil {
		return nil, err
	}
	return []string{text}, nil
}

// refuseOption refuses arguments that the model, rather than the agent file,
// makes look like an option: the element begins with a place, and the argument
// with "-" or with "@", which many programs take for "read that file". Numbers
// are no exception, since head -1 and kill -9 are options too.
func refuseOption(element template.Text, texts []string, args values) error {
	name, ok := firstPlace(element)
	if !ok {
		return nil
	}
	allowed := true
	for _, place := range element.Places() {
		if v, ok := args[place]; ok && !v.leading {
			allowed = false
		}
	}
	if allowed {
		return nil
	}
	for _, text := range texts {
		if text == "" || (text[0] != '-' && text[0] != '@') {
			continue
		}
		return refuse("argument %q must not begin with %q here, since the program could take it for an option or a file to read", name, text[:1])
	}
	return nil
}

// firstPlace gives the place that an element begins with, if it does.
func firstPlace(element template.Text) (string, bool) {
	for _, s := range element.Segments {
		if s.Place != "" || s.Text != "" {
			return s.Place, s.Place != ""
		}
	}
	return "", false
}
