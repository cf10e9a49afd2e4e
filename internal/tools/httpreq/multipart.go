package httpreq

import (
	"errors"
	"fmt"

	"github.com/adkmcp/adkmcp/internal/agent/mediatype"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/tools/webclient"
)

// newMultipart makes a multipart/form-data body.
func newMultipart(b *config.Body, ps params) (body, error) {
	if b.ContentType != "" {
		return nil, errors.New("body.content_type: a multipart body sets its own; remove it")
	}
	for _, p := range b.Multipart {
		if err := ps.undeclared(p.Value); err != nil {
			return nil, fmt.Errorf("body.multipart: %s: %w", p.Name, err)
		}
		if p.Filename == nil {
			continue
		}
		if err := ps.undeclared(*p.Filename); err != nil {
			return nil, fmt.Errorf("body.multipart: %s: filename: %w", p.Name, err)
		}
	}
	return func(a args) (string, []byte, error) {
		var parts []webclient.Part
		for _, p := range b.Multipart {
			more, err := expandPart(p, a)
			if err != nil {
				return "", nil, err
			}
			parts = append(parts, more...)
		}
		if len(parts) == 0 {
			return "", nil, nil
		}
		return webclient.Multipart(parts)
	}, nil
}

// expandPart gives the parts that an entry stands for: one, one for each item of
// a list, or none where the argument is missing.
func expandPart(p config.Part, a args) ([]webclient.Part, error) {
	part := webclient.Part{Name: p.Name, ContentType: p.ContentType}
	if p.Filename != nil {
		part.Filename, _ = a.expand(*p.Filename)
		if part.Filename != "" && part.ContentType == "" {
			part.ContentType = orDefault(mediatype.OfName(part.Filename), "application/octet-stream")
		}
	}
	var values []string
	list := false
	if name, only := p.Value.Only(); only {
		values, list = a.items(name)
	}
	if !list {
		if value, ok := a.expand(p.Value); ok {
			values = []string{value}
		}
	}
	var parts []webclient.Part
	for _, value := range values {
		part.Data = []byte(value)
		if p.Base64 {
			var err error
			if part.Data, err = webclient.DecodeBase64(value); err != nil {
				return nil, fmt.Errorf("what goes into the part %q of the request's body %w", p.Name, err)
			}
		}
		parts = append(parts, part)
	}
	return parts, nil
}
