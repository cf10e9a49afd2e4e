package show

import (
	"errors"
	"fmt"
	"strings"

	"github.com/adkmcp/adkmcp/cmd/adkmcp/mcphost"
)

// ownScheme is that of resources which only the server that named them has.
const ownScheme = "adkmcp://"

// Result prints the blocks of a result, or its structure where there are none.
// What links of ours lead to is read and saved, if data is. The error is that of
// the output, which nothing more can be printed to.
func (p *Printer) Result(r *mcphost.Result, read func(uri string) ([]mcphost.Block, error)) error {
	for i := range r.Blocks {
		b := &r.Blocks[i]
		if err := p.block(b); err != nil {
			return err
		}
		if b.Kind == mcphost.Link && strings.HasPrefix(b.URI, ownScheme) {
			p.fetch(b, read)
		}
	}
	for _, err := range r.Unreadable {
		p.Problem(fmt.Errorf("a block of the result cannot be shown: %w", err))
	}
	switch {
	case len(r.Blocks) > 0:
	case r.Structured != nil:
		return p.Text(string(r.Structured))
	case len(r.Unreadable) == 0:
		p.Problem(errors.New("the result is empty"))
	}
	return nil
}

func (p *Printer) block(b *mcphost.Block) error {
	switch {
	case b.Kind == mcphost.Link:
		return p.Text(describe(b))
	case b.Data != nil:
		p.Data(string(b.Kind), string(b.Kind), b.MIMEType, b.Data)
		return nil
	case b.Kind == mcphost.Resource && p.Dir != "":
		p.Data(string(b.Kind), string(b.Kind), b.MIMEType, []byte(b.Text))
		return nil
	}
	return p.Text(b.Text)
}

// describe says what a link leads to: NAME: URI (TYPE, N bytes).
func describe(b *mcphost.Block) string {
	text := b.URI
	if b.Name != "" && b.Name != b.URI {
		text = b.Name + ": " + text
	}
	var details []string
	if b.MIMEType != "" {
		details = append(details, b.MIMEType)
	}
	if b.Size != nil {
		details = append(details, fmt.Sprintf("%d bytes", *b.Size))
	}
	if details != nil {
		text += " (" + strings.Join(details, ", ") + ")"
	}
	return text
}

// fetch saves what a link leads to.
func (p *Printer) fetch(link *mcphost.Block, read func(uri string) ([]mcphost.Block, error)) {
	if p.Dir == "" {
		p.Note("keep it with --save DIR")
		return
	}
	blocks, err := read(link.URI)
	if err != nil {
		p.Problem(err)
	}
	for i := range blocks {
		data := blocks[i].Data
		if data == nil {
			data = []byte(blocks[i].Text)
		}
		p.Data(string(mcphost.Resource), link.Name, blocks[i].MIMEType, data)
	}
}
