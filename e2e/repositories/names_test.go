package repositories

import (
	"strconv"
	"strings"
)

func decimal(n int) string { return strconv.Itoa(n) }

// names are files that are named as no person would, and as some tool does.
func names() []situation {
	long := strings.Repeat("n", 255)
	odd := func(name, octal, written string) situation {
		return situation{name: "name-" + name, agent: `n="$(printf -- '` + octal + `')"; echo here > "./$n"`,
			adds: map[string]entry{written: file("here\n")}}
	}
	return []situation{
		odd("newline", `a\nb.txt`, "a\nb.txt"),
		odd("carriage-return", `a\rb.txt`, "a\rb.txt"),
		odd("tab", `a\tb.txt`, "a\tb.txt"),
		odd("escape", `a\033[31mb.txt`, "a\x1b[31mb.txt"),
		odd("quotes", `a"b\047c`, `a"b'c`),
		odd("backslash", `a\\b`, `a\b`),
		odd("dash", `-rf`, "-rf"),
		odd("spaces", ` a `, " a "),
		odd("latin-1", `caf\351.txt`, "caf\xe9.txt"),
		odd("emoji", `\360\237\246\212.txt`, "🦊.txt"),
		odd("pathspec", `:(top)x`, ":(top)x"),
		odd("glob", `[*?]`, "[*?]"),
		odd("tilde", `~`, "~"),
		odd("percent", `%%s%%n`, "%s%n"),
		odd("arrow", `a => b`, "a => b"),
		odd("right-to-left", `\342\200\256gpj.exe`, "\u202egpj.exe"),
		odd("long", long, long),
		odd("html", `<img src=x onerror=alert(1)>`, "<img src=x onerror=alert(1)>"),
		{name: "name-both-normal-forms", agent: `echo c > "$(printf 'caf\303\251')"; echo d > "$(printf 'cafe\314\201')"`,
			adds: map[string]entry{"caf\u00e9": file("c\n"), "cafe\u0301": file("d\n")}},
		{name: "name-two-cases", agent: "echo a > Case; echo b > case", adds: map[string]entry{"Case": file("a\n"), "case": file("b\n")}},
		{name: "name-deep", agent: `d=$(printf '%0.sdeep/' 1 2 3 4 5 6 7 8 9 10); mkdir -p "$d$d$d$d"; echo x > "$d$d$d${d}x"`,
			adds: map[string]entry{strings.Repeat("deep/", 40) + "x": file("x\n")}},
		{name: "name-many-controls", agent: `i=1; while [ $i -lt 32 ]; do n="$(printf "c\\$(printf %03o $i)c")"; echo $i > "$n"; i=$((i+1)); done`,
			adds: controls()},
		{name: "name-of-a-branch", agent: "echo x > main; echo y > HEAD; echo z > FETCH_HEAD; echo d > --",
			adds: map[string]entry{"main": file("x\n"), "HEAD": file("y\n"), "FETCH_HEAD": file("z\n"), "--": file("d\n")}},
		{name: "names-were-odd-before", prepare: func(r *repository) {
			r.put(r.clone(), "caf\xe9\n\"", "old\n", 0o600)
			r.put(r.clone(), "-x", "old\n", 0o600)
			r.commit(r.clone(), "Odd names")
			r.git(r.clone(), "push", "-q", "origin", "main")
		}, agent: `for f in *; do case "$f" in caf*|-x) echo more >> "./$f";; esac; done`,
			adds: map[string]entry{"caf\xe9\n\"": file("old\nmore\n"), "-x": file("old\nmore\n")}},
	}
}

func controls() map[string]entry {
	all := map[string]entry{}
	for i := 1; i < 32; i++ {
		all["c"+string(rune(i))+"c"] = file(decimal(i) + "\n")
	}
	return all
}
