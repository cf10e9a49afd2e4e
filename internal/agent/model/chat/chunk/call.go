package chunk

import (
	"encoding/json"
	"strings"

	"github.com/adkmcp/adkmcp/internal/agent/model/wire"
)

// gathered is a call, as far as its pieces have come.
type gathered struct {
	index    int
	numbered bool
	id       string
	name     string
	args     strings.Builder
	extra    json.RawMessage
	event    int    // of the newest piece
	key      string // says its arguments, once all is there
}

// take goes on with a piece.
func (g *gathered) take(p *Piece) {
	if g.id == "" {
		g.id = p.ID
	}
	if g.name != p.Name { // the rest of it, if anything
		g.name += p.Name
	}
	if p.Extra != nil {
		g.extra = p.Extra
	}
	if begins := strings.HasPrefix(strings.TrimLeft(p.Args, " \t\r\n"), "{"); begins || isQuoted(p.Args) {
		switch {
		case g.blank(): // {} stood for what had still to come
			g.args.Reset()
		case g.whole() && g.says(p.Args): // all of it again
			return
		}
	}
	g.args.WriteString(p.Args)
}

// whole reports whether there is no more to come of the arguments. It looks at their
// ends first, since it is asked for every piece of some servers.
func (g *gathered) whole() bool {
	args := strings.TrimSpace(g.args.String())
	ends := strings.HasPrefix(args, "{") && strings.HasSuffix(args, "}") || isQuoted(args)
	if !ends {
		return args == "null"
	}
	_, err := wire.ReadArguments([]byte(args))
	return err == nil
}

func isQuoted(args string) bool {
	return len(args) > 1 && strings.HasPrefix(args, `"{`) && strings.HasSuffix(args, `}"`)
}

// blank reports whether there are no arguments so far.
func (g *gathered) blank() bool { return isBlank(g.args.String()) }

// isBlank reports whether arguments are nothing, or an object without members.
func isBlank(s string) bool {
	const longest = 8 // such as null, or {} in quotes
	if len(s) > longest {
		return false
	}
	args, err := wire.ReadArguments([]byte(s))
	return err == nil && len(args) == 0
}

// says reports whether the arguments are those that somebody else gives.
func (g *gathered) says(args string) bool {
	mine, err := wire.ReadArguments([]byte(g.args.String()))
	theirs, err2 := wire.ReadArguments([]byte(args))
	return err == nil && err2 == nil && key(mine) == key(theirs)
}

// repeats reports whether one call is another said again.
func (g *gathered) repeats(other *gathered) bool {
	return g.name == other.name && g.key == other.key && sameID(g.id, other.id) && g.id+other.id != ""
}

// sameID reports whether two ids may be of one call.
func sameID(a, b string) bool { return a == b || a == "" || b == "" }

// key is the same for arguments that say the same.
func key(args map[string]any) string {
	raw, err := wire.Encode(args)
	if err != nil {
		return "" // cannot be: they were JSON
	}
	return string(raw)
}
