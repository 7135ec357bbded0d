package repositories

import "strings"

// edits is what an agent usually does, and edited what comes of it.
const edits = "echo four >> src/main.txt; echo new > notes.txt"

func edited() map[string]entry {
	return map[string]entry{"src/main.txt": file("one\ntwo\nthree\nfour\n"), "notes.txt": file("new\n")}
}

// ordinary is work as there is every day, and files of every kind.
func ordinary() []situation {
	return []situation{
		{name: "edits", agent: edits, adds: edited()},
		{name: "commits-by-itself", agent: edits + "; git add -A; git commit -qm 'Count on'", adds: edited()},
		{name: "commits-and-leaves-more", agent: "echo new > notes.txt; git add notes.txt; git commit -qm Notes; echo four >> src/main.txt; " +
			"echo staged > staged.txt; git add staged.txt; rm staged.txt", adds: edited()},
		{name: "changes-nothing", agent: "true", nothing: true},
		{name: "touches-only", agent: "touch README.md src/main.txt", nothing: true},
		{name: "removes", agent: "rm src/main.txt; git rm -q README.md", gone: []string{"src/main.txt", "README.md"}},
		{name: "deletes-everything", agent: "find . -mindepth 1 -maxdepth 1 ! -name .git -exec rm -rf {} +", whole: true},
		{name: "renames", agent: "mkdir -p lib; git mv src/main.txt lib/main.txt", gone: []string{"src/main.txt"},
			adds: map[string]entry{"lib/main.txt": file("one\ntwo\nthree\n")}},
		{name: "file-becomes-directory", agent: "rm README.md; mkdir README.md; echo in > README.md/inside.txt", gone: []string{"README.md"},
			adds: map[string]entry{"README.md/inside.txt": file("in\n")}},
		{name: "directory-becomes-file", agent: "rm -r src; echo flat > src", gone: []string{"src/main.txt"},
			adds: map[string]entry{"src": file("flat\n")}},
		{name: "directory-becomes-link", agent: "rm -r src; ln -s /etc src", gone: []string{"src/main.txt"},
			adds: map[string]entry{"src": link("/etc")}},
		{name: "link-becomes-file", agent: "rm latest; echo now > latest", adds: map[string]entry{"latest": file("now\n")}},
		{name: "executable-bits", agent: "chmod -x bin/run; chmod +x README.md; printf x > tool; chmod 711 tool",
			adds: map[string]entry{"bin/run": file("#!/bin/sh\necho run\n"), "README.md": program("# Ledger\n"), "tool": program("x")}},
		{name: "links", agent: "ln -s nowhere dangling; ln -s / root; ln -s . here",
			adds: map[string]entry{"dangling": link("nowhere"), "root": link("/"), "here": link(".")}},
		{name: "hard-links", agent: "ln README.md twin.md; echo more >> twin.md",
			adds: map[string]entry{"README.md": file("# Ledger\nmore\n"), "twin.md": file("# Ledger\nmore\n")}},
		{name: "empty-directories", agent: "mkdir -p empty/deep; echo x > x", adds: map[string]entry{"x": file("x\n")}},
		{name: "empty-file", agent: ": > nothing", adds: map[string]entry{"nothing": file("")}},
		{name: "no-last-line-end", agent: "printf 'one\\r\\ntwo' > mixed.txt", adds: map[string]entry{"mixed.txt": file("one\r\ntwo")}},
		{name: "binary", agent: "printf 'a\\000b\\377' > data", adds: map[string]entry{"data": file("a\x00b\xff")}},
		{name: "big-binary", agent: "head -c 20000000 /dev/zero > zeros", adds: map[string]entry{"zeros": file(strings.Repeat("\x00", 20_000_000))}},
		{name: "long-line", agent: "head -c 3000000 /dev/zero | tr '\\000' x > long", adds: map[string]entry{"long": file(strings.Repeat("x", 3_000_000))}},
		{name: "ignored-outputs", agent: "echo '*.log' > .gitignore; echo noise > build.log; mkdir out; echo noise > out/a.log; echo kept > kept.txt",
			adds: map[string]entry{".gitignore": file("*.log\n"), "kept.txt": file("kept\n")}},
		{name: "ignored-and-forced", agent: "echo '*.log' > .gitignore; echo signal > build.log; git add -f build.log; git add .gitignore; git commit -qm Log",
			adds: map[string]entry{".gitignore": file("*.log\n"), "build.log": file("signal\n")}},
		{name: "fifo-and-socket", agent: "mkfifo pipe; echo x > x", adds: map[string]entry{"x": file("x\n")}},
		{name: "no-rights", agent: "echo hidden > hidden.txt; mkdir closed; echo in > closed/in.txt; chmod 000 hidden.txt closed",
			adds: map[string]entry{"hidden.txt": file("hidden\n"), "closed/in.txt": file("in\n")}},
		{name: "read-only-directories", agent: "mkdir -p cache/deep; echo x > cache/deep/x; chmod -R 555 cache",
			adds: map[string]entry{"cache/deep/x": program("x\n")}},
		{name: "eol-attributes", agent: `printf '*.txt text eol=crlf\n*.raw -text\n' > .gitattributes; printf 'a\r\nb\r\n' > a.txt; printf 'a\r\nb\r\n' > a.raw`,
			adds: map[string]entry{".gitattributes": file("*.txt text eol=crlf\n*.raw -text\n"), "a.txt": file("a\nb\n"), "a.raw": file("a\r\nb\r\n")}},
		{name: "other-encodings", agent: `printf '*.utf16 text working-tree-encoding=UTF-16LE\n' > .gitattributes; printf 'h\000i\000\n\000' > a.utf16`,
			adds: map[string]entry{".gitattributes": file("*.utf16 text working-tree-encoding=UTF-16LE\n"), "a.utf16": file("hi\n")}},
		{name: "many-files", agent: "mkdir many; i=0; while [ $i -lt 1500 ]; do echo $i > many/$i; i=$((i+1)); done", adds: numbered(1500)},
	}
}

func numbered(n int) map[string]entry {
	all := map[string]entry{}
	for i := range n {
		number := decimal(i)
		all["many/"+number] = file(number + "\n")
	}
	return all
}
