package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/fleetboard/fleetboard/api"
)

func blobCommand(c *cli) *cobra.Command {
	put := &cobra.Command{Use: "put FILE", Args: cobra.ExactArgs(1), Annotations: calls("putBlob"),
		Short: "Store a file, or standard input as -, and print its SHA-256",
		Long: "Stores a content under its SHA-256, and prints that. It is deleted a day later unless a job or a message names\n" +
			"it by then.",
		RunE: callAndPrint(c, func(ctx context.Context, server *api.Client, args []string) (*http.Response, error) {
			from, err := c.open(args[0])
			if err != nil {
				return nil, err
			}
			defer func() { _ = from.Close() }()
			return server.PutBlobWithBody(ctx, "application/octet-stream", from, announceLength(from))
		}, func(_ *screen, w io.Writer, reply api.Blob) { fmt.Fprintln(w, cleanLine(reply.Sha256)) })}
	return group("blob", "Large contents by their SHA-256", put, blobGet(c))
}

// open opens a file, or stdin where it is named -.
func (s *screen) open(path string) (io.ReadCloser, error) {
	if path == "-" {
		return io.NopCloser(s.env.In), nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fail(exitUsage, "%w", err)
	}
	return file, nil
}

// announceLength says beforehand how long a file is, so that one that is too long is not sent.
func announceLength(from io.Reader) api.RequestEditorFn {
	return func(_ context.Context, r *http.Request) error {
		if file, ok := from.(*os.File); ok {
			if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
				r.ContentLength = info.Size()
			}
		}
		return nil
	}
}

func blobGet(c *cli) *cobra.Command {
	var output string
	cmd := &cobra.Command{Use: "get SHA256", Args: cobra.ExactArgs(1), Short: "Read a blob", Annotations: calls("getBlob"),
		Long: "Prints a blob, or writes it to a file, which is there only when it is whole. What came is compared with the\n" +
			"SHA-256."}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if output == "" && c.env.Terminal {
			return fail(exitUsage, "a blob is not shown on a terminal: name a file with -o, or send it on")
		}
		server, err := c.connect()
		if err != nil {
			return err
		}
		answer, err := server.GetBlob(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		defer func() { _ = answer.Body.Close() }()
		if output == "" {
			return copyBlob(c.env.Out, answer.Body, args[0])
		}
		return saveBlob(output, answer.Body, args[0])
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "write it to this `file`")
	return cmd
}

// copyBlob copies a blob and compares it with its name.
func copyBlob(to io.Writer, from io.Reader, name string) error {
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(to, sum), from); err != nil {
		return fail(exitUnreachable, "the blob did not come whole: %w", err)
	}
	if hex.EncodeToString(sum.Sum(nil)) != name {
		return fail(exitFailure, "what came is not %s", cleanLine(name))
	}
	return nil
}

// saveBlob writes a blob beside the file, and puts it in its place when it is whole.
func saveBlob(path string, from io.Reader, name string) error {
	beside, err := os.CreateTemp(filepath.Dir(path), ".blob-*")
	if err != nil {
		return fail(exitUsage, "%w", err)
	}
	defer func() { _ = os.Remove(beside.Name()) }() // gone already where it is whole
	err = copyBlob(beside, from, name)
	if closed := beside.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(beside.Name(), path)
}
