package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
)

// aliases returns a file of package api in the folder server that gives the types and constants
// of the folder api the same names there: those that the server's files use and do not declare.
func aliases(api, server, own string) (string, error) {
	offered, _, err := names(api, "")
	if err != nil {
		return "", err
	}
	declared, used, err := names(server, own)
	if err != nil {
		return "", err
	}
	lines := map[token.Token][]string{}
	for name := range used {
		if kind, ok := offered[name]; ok && ast.IsExported(name) && declared[name] == 0 {
			lines[kind] = append(lines[kind], fmt.Sprintf("\t%s = api.%s\n", name, name))
		}
	}
	var b strings.Builder
	b.WriteString(header + "package api\n\nimport \"github.com/fleetboard/fleetboard/api\"\n")
	for _, kind := range []token.Token{token.TYPE, token.CONST} {
		slices.Sort(lines[kind])
		fmt.Fprintf(&b, "\n%s (\n%s)\n", kind, strings.Join(lines[kind], ""))
	}
	return b.String(), nil
}

// names returns the top-level names that the files of a folder declare, with what kind of
// declaration, and those that they use without declaring them in the same file. It leaves tests and
// the file skip out.
func names(folder, skip string) (declared map[string]token.Token, used map[string]bool, err error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, nil, err
	}
	declared, used = map[string]token.Token{}, map[string]bool{}
	for _, path := range paths {
		if filepath.Base(path) == skip || strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return nil, nil, err
		}
		for name, object := range file.Scope.Objects {
			declared[name] = token.VAR // or a function
			switch object.Kind {
			case ast.Typ:
				declared[name] = token.TYPE
			case ast.Con:
				declared[name] = token.CONST
			}
		}
		for _, id := range file.Unresolved {
			used[id.Name] = true
		}
	}
	return declared, used, nil
}
