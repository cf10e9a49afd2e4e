package builtin

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/agent/artifact"
	"github.com/adkmcp/adkmcp/internal/agent/mediatype"
	"github.com/adkmcp/adkmcp/internal/agent/session"
	"github.com/adkmcp/adkmcp/internal/config"
)

const (
	saveArtifactDescription = "Save a file for the person who asked, who gets a link to it. " +
		"Saving under a name that exists makes a new version of it."
	loadArtifactsDescription = "Look at files that were saved in this conversation: the newest version of each. " +
		"Without names, list what there is."

	artifactNameProperty    = `"name":{"type":"string","description":"Name, such as report.md or charts/2026.png"}`
	artifactContentProperty = `"content":{"type":"string","description":"What a text file holds"}`
	artifactDataProperty    = `"data":{"type":"string","description":"What any other file holds, in base64, instead of content"}`
	artifactTypeProperty    = `"mime_type":{"type":"string","maxLength":100,"pattern":"^[a-z]+/[A-Za-z0-9.+-]+(; *[a-z]+=[A-Za-z0-9._-]+)*$","description":"MIME type; told by the name if left out"}`
	artifactNamesProperty   = `"names":{"type":"array","items":{"type":"string"},"maxItems":20,"description":"Names of files; a list of all if left out"}`
)

// shelf is where the artifacts of every conversation are.
type shelf struct{ store artifact.Store }

// newSaveArtifact gives the tool that saves an artifact.
func newSaveArtifact(t *config.Tool, d Deps) ([]agent.Tool, error) {
	if err := refuseArgs(t); err != nil {
		return nil, err
	}
	// Saving twice makes two versions, and no version is ever overwritten.
	spec := specOf("save_artifact", saveArtifactDescription, agent.Hints{NonDestructive: true, ClosedWorld: true},
		"!"+artifactNameProperty, artifactContentProperty, artifactDataProperty, artifactTypeProperty)
	return []agent.Tool{&tool[saveArgs]{spec, shelf{d.Artifacts}.save}}, nil
}

// newLoadArtifacts gives the tool that lists artifacts and looks at them.
func newLoadArtifacts(t *config.Tool, d Deps) ([]agent.Tool, error) {
	if err := refuseArgs(t); err != nil {
		return nil, err
	}
	spec := specOf("load_artifacts", loadArtifactsDescription, reads, artifactNamesProperty)
	return []agent.Tool{&tool[loadArgs]{spec, shelf{d.Artifacts}.load}}, nil
}

type saveArgs struct {
	Name     string  `json:"name"`
	Content  *string `json:"content"`
	Data     *string `json:"data"`
	MIMEType string  `json:"mime_type"`
}

func (s shelf) save(ctx context.Context, call *agent.Call, args *saveArgs) (*agent.Result, error) {
	a := artifact.Artifact{Name: args.Name, MIMEType: cmp.Or(args.MIMEType, mediatype.OfName(args.Name))}
	switch {
	case (args.Content == nil) == (args.Data == nil):
		return nil, errors.New("nothing was saved: give either content, which is text, or data, which is base64")
	case args.Content != nil:
		a.MIMEType = cmp.Or(a.MIMEType, "text/plain")
		a.Data = []byte(*args.Content)
		if !mediatype.IsText(a.MIMEType) {
			return nil, fmt.Errorf("nothing was saved: content is text, but %s is to be of type %s; give its bytes as data, in base64, or another type or name", args.Name, a.MIMEType)
		}
	default:
		data, err := base64.StdEncoding.DecodeString(*args.Data)
		if err != nil {
			return nil, fmt.Errorf("nothing was saved: data is not base64 with padding: %w", err)
		}
		a.Data, a.MIMEType = data, cmp.Or(a.MIMEType, http.DetectContentType(data))
	}
	saved, err := s.store.Save(ctx, call.Key, a)
	if err != nil {
		return nil, fmt.Errorf("nothing was saved: %w", err)
	}
	info := saved.Info()
	return &agent.Result{Output: "saved " + about(info), Artifacts: []session.Artifact{info}}, nil
}

// about is one line on an artifact.
func about(a session.Artifact) string {
	return fmt.Sprintf("%s, version %d, %s, %d bytes", a.Name, a.Version, a.MIMEType, a.Size)
}

type loadArgs struct {
	Names []string `json:"names"`
}

func (s shelf) load(ctx context.Context, call *agent.Call, args *loadArgs) (*agent.Result, error) {
	all, err := s.store.List(ctx, call.Key)
	if err != nil {
		return nil, err
	}
	if len(args.Names) == 0 {
		return agent.Text(listing(all)), nil
	}
	var b strings.Builder
	out := &agent.Result{}
	for i, name := range args.Names {
		if slices.Contains(args.Names[:i], name) {
			continue
		}
		a, err := s.store.Load(ctx, call.Key, name, 0)
		switch {
		case errors.Is(err, artifact.ErrNotFound):
			return nil, unknownArtifact(name, all)
		case err != nil:
			return nil, err
		case mediatype.IsText(a.MIMEType) && utf8.Valid(a.Data):
			fmt.Fprintf(&b, "%s:\n%s\n", about(a.Info()), strings.TrimSuffix(string(a.Data), "\n"))
		case len(a.Data) == 0:
			fmt.Fprintln(&b, about(a.Info()))
		default:
			fmt.Fprintf(&b, "%s: attached\n", about(a.Info()))
			out.Media = append(out.Media, &genai.Blob{MIMEType: a.MIMEType, Data: a.Data})
		}
	}
	out.Output = strings.TrimSuffix(b.String(), "\n")
	return out, nil
}

func listing(all []session.Artifact) string {
	if len(all) == 0 {
		return "nothing has been saved in this conversation"
	}
	lines := make([]string, len(all))
	for i := range all {
		lines[i] = about(all[i])
	}
	return strings.Join(lines, "\n")
}

// unknownArtifact is the error for a name that there is not; it says which
// there are.
func unknownArtifact(name string, all []session.Artifact) error {
	if len(all) == 0 {
		return fmt.Errorf("there is no artifact %q: nothing has been saved in this conversation", name)
	}
	const shown = 50
	var names []string
	for _, a := range all[:min(len(all), shown)] {
		names = append(names, a.Name)
	}
	if n := len(all) - shown; n > 0 {
		names = append(names, fmt.Sprintf("and %d more", n))
	}
	return fmt.Errorf("there is no artifact %q; there are: %s", name, strings.Join(names, ", "))
}
