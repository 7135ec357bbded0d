package main

import (
	"fmt"
	"go/format"
	"os"
	"path/filepath"
)

const (
	header = "// Code generated from api/openapi.yaml by api/internal/generate. DO NOT EDIT.\n\n"
	server = "handlers/api"
	// aliasFile is in the folder server.
	aliasFile = "aliases.gen.go"
)

func main() {
	if err := generate(); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// generate writes the files; paths are from the root of the repository.
func generate() error {
	text, err := aliases("api", server, aliasFile)
	if err != nil {
		return err
	}
	formatted, err := format.Source([]byte(text))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(server, aliasFile), formatted, 0o600)
}
