package wire

import (
	"errors"
	"net/url"
	"strings"
)

// Address reads the address of an API, without a slash at its end. endpoints are
// paths that people put behind it by mistake.
func Address(raw string, endpoints ...string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimRight(strings.TrimSpace(raw), "/"))
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("it must be a URL such as https://host/path")
	case u.User != nil:
		return nil, errors.New("put the credentials into model.api_key or model.headers")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, errors.New("it must end with the path, without ? and #")
	}
	for _, end := range endpoints {
		if strings.HasSuffix(u.Path, end) {
			return nil, errors.New("leave out " + end + " at its end")
		}
	}
	return u, nil
}
