// Package catalog is what agents offer beside their tool: prompts, resources and
// templates of resources that their files declare, completion for the places in
// them, the files that they made, and a card that describes each of them.
//
// Start with [New] and [Catalog.Read]. resource.go finds what a URI names,
// uri.go compares URIs, file.go reads files and knows their MIME types,
// prompt.go and complete.go answer for prompts and for places.
package catalog

import (
	"context"
	"errors"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/yosida95/uritemplate/v3"

	"github.com/adkmcp/adkmcp/internal/agent/artifact"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/serve/rpc"
)

// defaultMaxRead is how many bytes a file or a filled text may have.
const defaultMaxRead = 8 << 20

// Agent is one agent and what it offers. It is not written to.
type Agent struct {
	Name        string // of its tool; letters, digits, _ and -
	Title       string // may be empty
	Description string // may be empty
	Prompts     []config.Prompt
	Resources   []config.Resource
	Card        Card
}

// Options make a [Catalog].
type Options struct {
	// Artifacts are the files that agents make; nil if there are none.
	Artifacts artifact.Store
	// Principal says whose request it is; required with Artifacts.
	Principal func(context.Context) string
	// Failed, when set, gets the error to answer a request with in place of the
	// library's, which knows no codes but its own. It gets none where the
	// library's is right.
	Failed func(context.Context, *rpc.Error)
	// MaxRead is how many bytes a file may have, and a text with its places
	// filled; 0 means 8 MiB.
	MaxRead int
}

// Catalog is what agents offer together on one endpoint. It is immutable and
// safe for concurrent use.
type Catalog struct {
	opts    Options
	offers  []*offer
	prompts map[string]*config.Prompt      // by name
	values  map[string]map[string][]string // by URI template and place, to complete
}

// offer is one agent's part of the catalogue.
type offer struct {
	Agent
	resources []*resource // those with a fixed URI first, as Read tries them
	prompts   []mcp.Prompt
	fixed     []mcp.Resource
	templates []mcp.ResourceTemplate
}

// New puts together what the agents offer. It opens no file and asks no store.
// The error names both places of every name that two of them have.
func New(agents []Agent, o Options) (*Catalog, error) {
	if o.MaxRead <= 0 {
		o.MaxRead = defaultMaxRead
	}
	c := &Catalog{opts: o, prompts: make(map[string]*config.Prompt), values: make(map[string]map[string][]string)}
	for i := range agents {
		f, err := newOffer(&agents[i], o.Artifacts != nil)
		if err != nil {
			return nil, err
		}
		c.offers = append(c.offers, f)
	}
	return c, c.index()
}

// index fills the tables, and finds names that more than one agent has.
func (c *Catalog) index() error {
	var faults []error
	owners := make(map[string]string) // what is offered -> the agent
	claim := func(f *offer, kind, name string) {
		key := kind + " " + name
		if owner, taken := owners[key]; taken {
			faults = append(faults, fmt.Errorf("the %s %q is offered by the agent %s and by the agent %s; rename one of them", kind, name, owner, f.Name))
			return
		}
		owners[key] = f.Name
	}
	for i, f := range c.offers {
		for j := range f.Prompts {
			claim(f, "prompt", f.Prompts[j].Name)
			c.prompts[f.Prompts[j].Name] = &f.Prompts[j]
		}
		for _, r := range f.fixed {
			claim(f, "resource name", r.Name)
			claim(f, "resource", r.URI)
		}
		for _, t := range f.templates {
			claim(f, "resource name", t.Name)
			claim(f, "resource", t.URITemplate.Raw())
			c.values[t.URITemplate.Raw()] = nil
		}
		for _, r := range f.resources {
			if r.URITemplate != "" {
				c.values[r.URITemplate] = r.Values
			}
			if other := c.rival(c.offers[:i], r); other != "" {
				faults = append(faults, fmt.Errorf("a URI may fit both the resource %s and %s; change one of them", r.where(f), other))
			}
		}
	}
	return errors.Join(faults...)
}

// rival names a resource of an agent before that some URI of r could name too,
// empty if there is none. Two that are written alike are reported anyway.
func (c *Catalog) rival(before []*offer, r *resource) string {
	for _, f := range before {
		for _, other := range f.resources {
			if (r.URITemplate != "" || other.URITemplate != "") && r.Address() != other.Address() && r.pattern.overlaps(other.pattern) {
				return other.where(f)
			}
		}
	}
	return ""
}

// newOffer says in the protocol's words what an agent offers.
func newOffer(a *Agent, artifacts bool) (*offer, error) {
	f := &offer{Agent: *a}
	for i := range a.Prompts {
		f.prompts = append(f.prompts, describePrompt(&a.Prompts[i]))
	}
	f.fixed = append(f.fixed, describeCard(a))
	var templates []*resource
	for i := range a.Resources {
		r := newResource(&a.Resources[i])
		if r.URI != "" {
			f.resources = append(f.resources, r)
			f.fixed = append(f.fixed, mcp.Resource{
				URI: r.URI, Name: r.Name, Title: r.Title, Description: r.Description, MIMEType: r.listedType(),
			})
			continue
		}
		templates = append(templates, r)
		if err := f.addTemplate(r.URITemplate, mcp.ResourceTemplate{
			Name: r.Name, Title: r.Title, Description: r.Description, MIMEType: r.listedType(),
		}); err != nil {
			return nil, err
		}
	}
	f.resources = append(f.resources, templates...)
	if !artifacts {
		return f, nil
	}
	return f, f.addTemplate(artifactPrefix(a.Name)+"{id}", mcp.ResourceTemplate{
		Name: a.Name + "/artifacts", Description: "A file that " + a.Name + " made, by the id in a link to it.",
	})
}

func (f *offer) addTemplate(uri string, t mcp.ResourceTemplate) error {
	parsed, err := uritemplate.New(uri)
	if err != nil {
		return fmt.Errorf("the agent %s: the uri_template %q cannot be read: %w", f.Name, uri, err)
	}
	t.URITemplate = &mcp.URITemplate{Template: parsed}
	f.templates = append(f.templates, t)
	return nil
}

// ServerOptions are what an MCP server needs to serve the catalogue, before
// [Catalog.Register]. They set the server's hooks.
func (c *Catalog) ServerOptions() []server.ServerOption {
	options := []server.ServerOption{
		server.WithResourceCapabilities(false, false),
		server.WithHooks(c.hooks()),
	}
	if len(c.prompts) > 0 {
		options = append(options, server.WithPromptCapabilities(false))
	}
	if c.completes() {
		options = append(options, server.WithCompletions(),
			server.WithPromptCompletionProvider(completer{c}), server.WithResourceCompletionProvider(completer{c}))
	}
	return options
}

// Register adds the catalogue to a server that was made with
// [Catalog.ServerOptions].
func (c *Catalog) Register(m *server.MCPServer) {
	for _, f := range c.offers {
		for i := range f.prompts {
			m.AddPrompt(f.prompts[i], c.promptHandler(f, &f.Prompts[i]))
		}
		for i := range f.fixed {
			m.AddResource(f.fixed[i], c.resourceHandler(f))
		}
		for i := range f.templates {
			m.AddResourceTemplate(f.templates[i], server.ResourceTemplateHandlerFunc(c.resourceHandler(f)))
		}
	}
}
