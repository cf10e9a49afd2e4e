package httpreq

import (
	"google.golang.org/genai"

	"github.com/adkmcp/adkmcp/internal/agent"
	"github.com/adkmcp/adkmcp/internal/tools/webclient"
)

// result is what the model reads of a request.
func result(o *webclient.Outcome) *agent.Result {
	r := &agent.Result{Output: o.Output, IsError: o.Failed, Transient: o.Transient}
	if o.Data != nil {
		r.Media = []*genai.Blob{{MIMEType: o.MIME, Data: o.Data}}
	}
	return r
}
