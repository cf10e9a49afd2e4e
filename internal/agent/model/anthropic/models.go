package anthropic

import (
	"strconv"
)

// version is that of a model: 4.6 is 406.
type version int

const (
	newest version = 505 // that the tables know of
	never  version = 1 << 20
)

// since says from which version of a family on models have something. others are
// Fable, Mythos and families that are newer still.
type since struct{ opus, sonnet, haiku, others version }

// What models take, as of November 2026: the service's pages on thinking, effort,
// structured outputs and preserved thinking, and the migration guides of the models.
// A name without a version is the newest.
var (
	thinksByBudget    = since{400, 307, 405, never} // thinking {type: enabled, budget_tokens}
	thinksAdaptively  = since{406, 406, 500, 0}     // thinking {type: adaptive}, output_config.effort
	refusesBudget     = since{407, 500, 500, 0}     // adaptive only
	refusesSampling   = since{407, 500, 500, 0}     // temperature, top_p and top_k other than the default
	takesOneSampler   = since{401, 405, 405, 0}     // temperature or top_p, not both
	thinksByDefault   = since{500, 500, 500, 0}     // where the request does not say
	alwaysThinks      = since{505, never, never, 0} // refuses to have it turned off
	thinksBetweenOnly = since{never, 505, never, never}
	bindsThoughts     = since{505, 505, 505, 501} // to all that stands before them
	takesSchema       = since{405, 405, 405, 0}   // output_config.format
)

// named is what a model's name says.
type named struct {
	family  string // empty where the name is not one of Anthropic's
	version version
}

// Names such as claude-opus-4-6, claude-sonnet-4-20250514, claude-opus-4.5 and
// claude-mythos-preview, with whatever a gateway puts around them; and the older
// claude-3-5-sonnet-20241022.
var (
	newNames = pattern(`claude-([a-z]+)(?:-(\d{1,2})(?:[-.](\d{1,2}))?)?(?:$|[^\d])`)
	oldNames = pattern(`claude-(\d)(?:[-.](\d))?(?:-([a-z]+))?`)
)

func readName(name string) named {
	var family, major, minor string
	if m := oldNames().FindStringSubmatch(name); m != nil {
		family, major, minor = m[3], m[1], m[2]
	} else if m := newNames().FindStringSubmatch(name); m != nil {
		family, major, minor = m[1], m[2], m[3]
	} else {
		return named{}
	}
	if major == "" {
		return named{family, never - 1}
	}
	high, _ := strconv.Atoi(major) // digits only, or nothing
	low, _ := strconv.Atoi(minor)
	return named{family, version(100*high + low)}
}

// known reports whether the name is one of Anthropic's.
func (n named) known() bool { return n.version > 0 }

// has reports whether the model has something; one of another maker has not.
func (n named) has(s since) bool {
	if !n.known() {
		return false
	}
	from := s.others
	switch n.family {
	case "opus":
		from = s.opus
	case "sonnet":
		from = s.sonnet
	case "haiku":
		from = s.haiku
	}
	if n.version < 400 { // Claude 3 and before, whatever the family
		from = max(from, s.sonnet)
	}
	return n.version >= from
}

// most is how many tokens the model's answers have at most (the service's page on
// models); 0 where that is not known, as of models newer than the table.
func (n named) most() int {
	switch {
	case !n.known() || n.version > newest:
		return 0
	case n.version < 305:
		return 4096
	case n.version < 307:
		return 8192
	case n.has(thinksAdaptively):
		return 128000
	case n.family == "opus" && n.version < 405:
		return 32000
	}
	return 64000
}
