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
	text, err := limits("api/openapi.yaml")
	if err == nil {
		err = write("api/limits.gen.go", text)
	}
	if err != nil {
		return err
	}
	if text, err = aliases("api", server, aliasFile); err != nil {
		return err
	}
	return write(filepath.Join(server, aliasFile), text)
}

func write(path, text string) error {
	formatted, err := format.Source([]byte(text))
	if err != nil {
		return err
	}
	return os.WriteFile(path, formatted, 0o600)
}
