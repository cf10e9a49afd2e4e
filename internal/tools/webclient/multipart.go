package webclient

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"mime/multipart"
	"net/textproto"
	"strings"
)

// Part is one part of a multipart/form-data body (RFC 7578).
type Part struct {
	Name     string
	Filename string // empty for a part that is no file
	// ContentType is sent as it is; empty sends none.
	ContentType string
	Data        []byte
}

// Multipart writes parts in their order and gives the Content-Type that goes with
// the body. The boundary is random, so nobody can put it into a part.
func Multipart(parts []Part) (contentType string, body []byte, err error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, p := range parts {
		if strings.ContainsFunc(p.ContentType, IsControl) {
			return "", nil, fmt.Errorf("the content type of the part %q holds a line break or another control character", p.Name)
		}
		disposition := `form-data; name="` + escapeName(p.Name) + `"`
		if p.Filename != "" {
			disposition += `; filename="` + escapeName(p.Filename) + `"`
		}
		header := textproto.MIMEHeader{"Content-Disposition": {disposition}}
		if p.ContentType != "" {
			header.Set("Content-Type", p.ContentType)
		}
		// Writing into memory does not fail.
		if to, err := w.CreatePart(header); err == nil {
			_, _ = to.Write(p.Data)
		}
	}
	_ = w.Close()
	return w.FormDataContentType(), b.Bytes(), nil
}

// escapeName escapes a name as browsers do (WHATWG HTML, multipart form data).
// Other control characters have no place in a header and become U+FFFD.
func escapeName(s string) string {
	s = strings.NewReplacer("\r", "%0D", "\n", "%0A", `"`, "%22").Replace(s)
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '\uFFFD'
		}
		return r
	}, s)
}

// DecodeBase64 reads base64 in either alphabet (RFC 4648), with or without padding
// and line breaks. The error does not hold the text.
func DecodeBase64(s string) ([]byte, error) {
	s = strings.NewReplacer("\r", "", "\n", "", " ", "", "-", "+", "_", "/").Replace(s)
	data, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
	if err != nil {
		return nil, errors.New("is not base64")
	}
	return data, nil
}
