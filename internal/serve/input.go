package serve

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
	"github.com/adkmcp/adkmcp/internal/serve/catalog"
)

// Names of a tool's own arguments.
const (
	argRequest      = "request"
	argConversation = "conversation"
	argAttachments  = "attachments"
)

// input is what a call says.
type input struct {
	parts  []*genai.Part
	handle string // empty, the word new or a handle
	// digest is the same for the same arguments beside the handle.
	digest string
	// asked are the questions that are asked with the call's result, and expires
	// is until when those of an earlier call may be answered.
	asked   []*session.Suspension
	expires time.Time
}

// arguments reads a call's arguments. problem is what the caller should read
// if they are wrong.
func (a *Agent) arguments(ctx context.Context, s *Server, req *mcp.CallToolRequest) (in input, problem string) {
	args := make(map[string]json.RawMessage)
	if raw := req.Params.RawArguments; len(raw) > 0 && !bytes.Equal(bytes.TrimSpace(raw), []byte("null")) {
		if json.Unmarshal(raw, &args) != nil {
			return in, "the arguments must be an object"
		}
	}
	if problem = text(args[argConversation], &in.handle, "the argument conversation must be a string: a handle from an earlier result, or new"); problem != "" {
		return in, problem
	}
	in.handle = strings.TrimSpace(in.handle)
	// Whoever has been given the handle of a turn asks for the same with it. Maps
	// are written in the order of their names.
	delete(args, argConversation)
	digest, err := json.Marshal(args)
	if err != nil {
		return in, "the arguments cannot be read"
	}
	in.digest = string(digest)
	request, problem := a.requestText(args)
	if problem != "" {
		return in, problem
	}
	in.parts = []*genai.Part{{Text: request}}
	attached, problem := a.attached(ctx, s, args[argAttachments])
	in.parts = append(in.parts, attached...)
	return in, problem
}

// text reads an argument that must be text if it is there.
func text(raw json.RawMessage, into *string, otherwise string) (problem string) {
	if len(raw) > 0 && json.Unmarshal(raw, into) != nil {
		return otherwise
	}
	return ""
}

// requestText is the request that the agent gets: the argument request, or
// with an input_schema the arguments that match it, as JSON.
func (a *Agent) requestText(args map[string]json.RawMessage) (request, problem string) {
	if a.Input != nil {
		own := make(map[string]json.RawMessage, len(args))
		for name, value := range args {
			if name != argAttachments {
				own[name] = value
			}
		}
		typed, err := json.Marshal(own)
		if err != nil {
			return "", "the arguments cannot be read"
		}
		if problem := a.Input.Check(typed); problem != "" {
			return "", problem
		}
		return string(typed), ""
	}
	raw := args[argRequest]
	if len(raw) == 0 || string(raw) == "null" {
		return "", "the argument request is missing: say what the agent should do, as a string"
	}
	if problem := text(raw, &request, "the argument request must be a string"); problem != "" {
		return "", problem
	}
	if strings.TrimSpace(request) == "" {
		return "", "the argument request is empty: say what the agent should do"
	}
	return request, ""
}

// attachment is one that a caller sends along: a resource of ours, or data.
type attachment struct {
	URI      string `json:"uri"`
	Data     string `json:"data"` // base64
	Text     string `json:"text"`
	MIMEType string `json:"mimeType"`
	Name     string `json:"name"`
}

// attached gives the attachments as parts, within the agent's bounds.
func (a *Agent) attached(ctx context.Context, s *Server, raw json.RawMessage) (parts []*genai.Part, problem string) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, ""
	}
	bounds := a.Attachments
	if bounds == nil {
		return nil, "this agent takes no attachments: leave the argument attachments out"
	}
	var all []attachment
	if json.Unmarshal(raw, &all) != nil {
		return nil, "the argument attachments must be a list of objects with uri, data (base64) or text"
	}
	if len(all) > bounds.MaxCount {
		return nil, fmt.Sprintf("there are %d attachments, at most %d are taken", len(all), bounds.MaxCount)
	}
	size := 0
	for i := range all {
		blob, problem := s.attachment(ctx, a, &all[i])
		if problem != "" {
			return nil, fmt.Sprintf("attachment %d: %s", i+1, problem)
		}
		if size += len(blob.Data); size > bounds.MaxBytes {
			return nil, fmt.Sprintf("the attachments hold more than %d bytes together", bounds.MaxBytes)
		}
		if !taken(bounds, blob.MIMEType) {
			return nil, fmt.Sprintf("attachment %d: the MIME type %q is not taken, only %s", i+1, blob.MIMEType, strings.Join(bounds.Types, ", "))
		}
		parts = append(parts, &genai.Part{InlineData: blob})
	}
	return parts, ""
}

// attachment gives the data of one attachment.
func (s *Server) attachment(ctx context.Context, a *Agent, at *attachment) (*genai.Blob, string) {
	given := 0
	for _, v := range []string{at.URI, at.Data, at.Text} {
		if v != "" {
			given++
		}
	}
	b := &genai.Blob{MIMEType: at.MIMEType, DisplayName: path.Base("/" + at.Name)}
	if at.Name == "" {
		b.DisplayName = ""
	}
	switch {
	case given != 1:
		return nil, "give exactly one of uri, data and text"
	case at.Text != "":
		b.Data = []byte(at.Text)
		if b.MIMEType == "" {
			b.MIMEType = "text/plain"
		}
	case at.Data != "":
		data, err := base64.StdEncoding.DecodeString(at.Data)
		if err != nil {
			return nil, "its data is not base64"
		}
		b.Data = data
	default:
		data, mimeType, err := s.readResource(ctx, a, at.URI)
		switch {
		case errors.Is(err, catalog.ErrNotFound):
			return nil, fmt.Sprintf("there is no resource %s on this server; only resources of the agent and artifacts of earlier results can be named", at.URI)
		case err != nil:
			s.opts.Log.Warn("a resource cannot be attached", "uri", at.URI, "error", err)
			return nil, fmt.Sprintf("the resource %s cannot be read; the server's log says why", at.URI)
		}
		b.Data = data
		if b.MIMEType == "" {
			b.MIMEType = mimeType
		}
	}
	if b.MIMEType == "" {
		return nil, "its mimeType is missing"
	}
	return b, ""
}

// taken reports whether a MIME type is among those that the agent takes.
func taken(bounds *config.Attachments, mimeType string) bool {
	if len(bounds.Types) == 0 {
		return true
	}
	kind, _, _ := strings.Cut(strings.ToLower(mimeType), ";")
	kind = strings.TrimSpace(kind)
	major, _, _ := strings.Cut(kind, "/")
	for _, t := range bounds.Types {
		if t == kind || t == major+"/*" {
			return true
		}
	}
	return false
}
