package hosts

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/adkmcp/adkmcp/internal/serve/hosts/configfile"
)

// Editor shows and edits the configuration of hosts. What was asked for goes to
// Out, what one has to know besides to Err.
type Editor struct {
	System
	Out, Err io.Writer
}

// row is one line of [Editor.List].
type row struct {
	Host    string   `json:"host"`
	Title   string   `json:"title"`
	Scope   string   `json:"scope"`
	File    string   `json:"file"`
	Exists  bool     `json:"exists"`
	Servers []string `json:"servers"` // entries that start adkmcp
	Problem string   `json:"problem,omitempty"`
}

// List writes the hosts, their files on this machine, and what these hold of
// adkmcp: as a table, or as a JSON array.
func (e *Editor) List(asJSON bool) error {
	rows := []row{}
	for _, h := range table() {
		for _, scope := range []string{User, Project} {
			if len(h.scopes()[scope]) == 0 {
				continue
			}
			rows = append(rows, e.row(h, scope))
		}
	}
	if asJSON {
		out := json.NewEncoder(e.Out)
		out.SetIndent("", "  ")
		out.SetEscapeHTML(false)
		return out.Encode(rows)
	}
	w := tabwriter.NewWriter(e.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "HOST\tSCOPE\tFILE\tHOLDS")
	for _, r := range rows {
		holds := strings.Join(r.Servers, ", ")
		switch {
		case r.Problem != "":
			holds = "(" + r.Problem + ")"
		case !r.Exists:
			holds = "(no file)"
		case holds == "":
			holds = "-"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.Host, r.Scope, cmp.Or(r.File, "-"), holds)
	}
	return w.Flush()
}

func (e *Editor) row(h *host, scope string) row {
	r := row{Host: h.name, Title: h.title, Scope: scope, Servers: []string{}}
	spot, _, err := e.where(h, Options{Scope: scope})
	if err != nil {
		r.Problem = err.Error()
		return r
	}
	r.File = spot.path
	f, err := configfile.Open(spot.path)
	if err == nil {
		r.Exists = f.Exists
		var entries map[string]any
		entries, err = h.kind.Entries(f.Text)
		for _, name := range slices.Sorted(maps.Keys(entries)) {
			if ours(entries[name]) {
				r.Servers = append(r.Servers, name)
			}
		}
	}
	if err != nil {
		r.Problem = err.Error()
	}
	return r
}

// where picks the file of a host.
func (e *Editor) where(h *host, o Options) (spot, string, error) {
	if o.File != "" {
		path := o.File
		if !filepath.IsAbs(path) {
			path = filepath.Join(e.Dir, path)
		}
		return spot{filepath.Dir(path), path}, User, nil
	}
	scope := o.Scope
	switch scope {
	case User, Project:
	case "":
		if scope = User; len(h.user) == 0 {
			scope = Project
		}
	default:
		return spot{}, "", usagef("--scope %s: use %s or %s", scope, User, Project)
	}
	all, err := e.spots(h, scope)
	switch {
	case err != nil:
		return spot{}, "", err
	case len(h.scopes()[scope]) == 0:
		return spot{}, "", usagef("%s has no configuration file for a %s", h.title, scope)
	case len(all) == 0:
		return spot{}, "", fmt.Errorf("no file of %s is known on %s; name one with --file", h.title, e.GOOS)
	}
	for _, s := range all {
		if there(s.path) {
			return s, scope, nil
		}
	}
	for _, s := range all {
		if there(s.dir) {
			return s, scope, nil
		}
	}
	return all[0], scope, nil
}

// wish is what was asked for, in the words of a host.
type wish struct {
	host   *host
	server *server
	entry  configfile.Object
	notes  []string // what the user has to know of it
}

func (e *Editor) wish(o *Options, a Agents) (*wish, error) {
	h, err := find(o.Host)
	if err != nil {
		return nil, err
	}
	s, err := e.server(o, a)
	switch {
	case err != nil:
		return nil, err
	case s.url != "" && h.shape.url == "":
		return nil, usagef("%s takes no URL in its file: it starts processes only", h.title)
	}
	name, warning, err := h.named(s)
	if err != nil {
		return nil, err
	}
	s.name = name
	notes := slices.DeleteFunc([]string{h.byHand(s), h.capped(s), warning}, func(n string) bool { return n == "" })
	return &wish{h, s, h.entry(h, s), notes}, nil
}

func (e *Editor) say(format string, args ...any) {
	fmt.Fprintf(e.Err, format+"\n", args...)
}

// Print writes the entry as it stands alone, and says where it belongs.
func (e *Editor) Print(o Options, a Agents) error {
	w, err := e.wish(&o, a)
	if err != nil {
		return err
	}
	spot, _, err := e.where(w.host, o)
	if err != nil {
		return err
	}
	text, err := w.host.kind.Snippet(w.server.name, w.entry)
	if err != nil {
		return err
	}
	e.say("For %s:", spot.path)
	for _, note := range w.notes {
		e.say("%s", note)
	}
	_, err = io.WriteString(e.Out, text)
	return err
}

// Install puts the entry into the host's file.
func (e *Editor) Install(o Options, a Agents) error {
	w, err := e.wish(&o, a)
	if err != nil {
		return err
	}
	t, err := e.open(w.host, o)
	if err != nil {
		return err
	}
	s, did := w.server, "Added"
	if old, exists := t.entries[s.name]; exists {
		did = "Replaced"
		command, url := target(old)
		switch {
		case w.entry.In(old):
			e.say("%s has this entry already; nothing is changed.", t.file.Path)
			return nil
		case !ours(old) && (url == "" || url != s.url) && (command == "" || command != s.command) && !o.Force:
			return fmt.Errorf("%s has an entry %s that is not adkmcp's: it has %s; choose another --name, or replace it with --force", t.file.Path, s.name, command+url)
		}
	}
	after, err := w.host.kind.Set(t.file.Text, s.name, w.entry)
	if err != nil {
		return fmt.Errorf("%s: %w", t.file.Path, err)
	}
	if err := e.apply(t, o, after, did+" "+s.name); err != nil {
		return err
	}
	for _, note := range w.notes {
		e.say("%s", note)
	}
	if !o.DryRun {
		e.say("%s", w.host.next)
	}
	return nil
}

// Remove takes the entry of a name out of the host's file.
func (e *Editor) Remove(o Options, name string) error {
	h, err := find(o.Host)
	if err != nil {
		return err
	}
	t, err := e.open(h, o)
	if err != nil {
		return err
	}
	old, exists := t.entries[name]
	if !exists {
		return fmt.Errorf("%s has no entry %s", t.file.Path, name)
	}
	if command, _ := target(old); command != "" && !ours(old) && !o.Force {
		return fmt.Errorf("the entry %s of %s is not adkmcp's: it starts %s; remove it with --force", name, t.file.Path, command)
	}
	after, err := h.kind.Remove(t.file.Text, name)
	if err != nil {
		return fmt.Errorf("%s: %w", t.file.Path, err)
	}
	return e.apply(t, o, after, "Removed "+name)
}

// opened is a host's file, read and understood.
type opened struct {
	file    *configfile.File
	entries map[string]any
	spot    spot
	scope   string
}

func (e *Editor) open(h *host, o Options) (*opened, error) {
	spot, scope, err := e.where(h, o)
	if err != nil {
		return nil, err
	}
	t := &opened{spot: spot, scope: scope}
	if t.file, err = configfile.Open(spot.path); err != nil {
		return nil, err
	}
	if t.entries, err = h.kind.Entries(t.file.Text); err != nil {
		return nil, fmt.Errorf("%s: %w", t.file.Path, err)
	}
	return t, nil
}

// apply writes the new text, or shows what it would change.
func (e *Editor) apply(t *opened, o Options, after, did string) error {
	fresh, folder := fs.FileMode(0o600), fs.FileMode(0o700)
	if t.scope == Project {
		fresh, folder = 0o644, 0o755
	} else if !there(t.spot.dir) && !o.Force {
		return fmt.Errorf("there is no folder %s, so the host seems not to be installed; --force makes it, --file names another file", t.spot.dir)
	}
	if o.DryRun {
		from := t.file.Path
		if !t.file.Exists {
			from = os.DevNull
		}
		_, err := io.WriteString(e.Out, configfile.Diff(from, t.file.Path, t.file.Text, after))
		return err
	}
	if err := os.MkdirAll(filepath.Dir(t.file.Path), folder); err != nil {
		return err
	}
	backup, err := t.file.Write(after, fresh)
	if err != nil {
		return err
	}
	if did += " in " + t.file.Path + "."; backup != "" {
		did += " The file as it was is " + backup + "."
	}
	e.say("%s", did)
	return nil
}

// there reports whether something stands at a path.
func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
