package cli

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/client"
)

// maxToken bounds what is read of a file or of stdin as a token, in bytes.
const maxToken = 4096

func loginCommand(c *cli) *cobra.Command {
	var name, tokenFile string
	cmd := &cobra.Command{
		Use: "login [SERVER]", Args: cobra.MaximumNArgs(1), Annotations: calls("getVersion", "listProducts"),
		Short: "Keep a server and a token for later commands",
		Long: "Checks a token with the server and keeps both, for you alone, in the system's folder for configuration.\n\n" +
			"Make a person's token in the browser under Settings, Tokens. An enrolment token, which worker hosts need,\n" +
			"is kept beside it: log in once with each. The token is asked for on a terminal and read from stdin elsewhere.",
		RunE: func(cmd *cobra.Command, args []string) error {
			server := cmp.Or(strings.Join(args, ""), c.server, c.env.Getenv("FLEETBOARD_URL"))
			return logIn(cmd.Context(), c, server, name, tokenFile)
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "`name` of the context; by default the server's host")
	cmd.Flags().StringVar(&tokenFile, "token-file", "", "read the token from this `file`; - is stdin")
	return cmd
}

func logIn(ctx context.Context, c *cli, server, name, tokenFile string) error {
	in := bufio.NewReader(io.LimitReader(c.env.In, maxToken))
	if server == "" && c.env.AskSecret != nil {
		fmt.Fprintf(c.env.Err, "Server [%s]: ", localServer)
		line, err := in.ReadString('\n')
		if err != nil {
			return err
		}
		server = strings.TrimSpace(line)
	}
	server = strings.TrimSuffix(cmp.Or(server, localServer), "/")
	if _, err := dial(server, ""); err != nil {
		return err
	}
	token, err := readToken(c, in, tokenFile)
	if err != nil {
		return err
	}
	warnOfPlainHTTP(c, server)
	cfg, err := c.env.loadConfig()
	if err != nil {
		return err
	}
	if name == "" {
		name = cmp.Or(c.context, nameFor(cfg, server))
	}
	saved := cfg.Contexts[name]
	if saved.Server != server {
		saved = savedContext{Server: server}
	}
	if strings.HasPrefix(token, "fb_enrolment_") {
		saved.EnrolmentToken = token
		err = checkServer(ctx, server)
	} else {
		saved.Token = token
		err = checkToken(ctx, server, token)
	}
	if err != nil {
		return err
	}
	cfg.Contexts[name], cfg.Current = saved, name
	if err := c.env.saveConfig(cfg); err != nil {
		return err
	}
	c.say("Logged in to %s as context %s.\n", server, name)
	return nil
}

// nameFor returns the name of a new context, or of the one that the server has.
func nameFor(cfg config, server string) string {
	if name, ok := cfg.findContext(server); ok {
		return name
	}
	at, err := url.Parse(server)
	if err != nil {
		return "default"
	}
	name := at.Hostname()
	if _, taken := cfg.Contexts[name]; taken {
		name = at.Host
	}
	return name
}

// readToken reads the token: of a file, of stdin, or hidden on a terminal.
func readToken(c *cli, in io.Reader, file string) (string, error) {
	var raw []byte
	var err error
	switch {
	case file != "" && file != "-":
		raw, err = os.ReadFile(file)
	case c.env.AskSecret != nil && file == "":
		fmt.Fprint(c.env.Err, "Token (it is not shown): ")
		var secret string
		secret, err = c.env.AskSecret()
		raw = []byte(secret)
		fmt.Fprintln(c.env.Err)
	default:
		raw, err = io.ReadAll(in)
	}
	if err != nil {
		return "", fail(exitUsage, "the token cannot be read: %w", err)
	}
	token := strings.TrimSpace(string(raw))
	if token == "" {
		return "", fail(exitUsage, "the token is empty: give it on stdin or with --token-file")
	}
	if len(token) > maxToken || strings.ContainsAny(token, " \t\r\n") {
		return "", fail(exitUsage, "what was given is no token: it must be one word that begins with fb_")
	}
	return token, nil
}

// checkServer makes a call that needs no token.
func checkServer(ctx context.Context, server string) error {
	to, err := dial(server, "")
	if err != nil {
		return err
	}
	_, err = to.GetVersionWithResponse(ctx)
	return err
}

// checkToken makes a call that every person and agent may make.
func checkToken(ctx context.Context, server, token string) error {
	to, err := dial(server, token)
	if err != nil {
		return err
	}
	one := 1
	_, err = to.ListProductsWithResponse(ctx, &api.ListProductsParams{Limit: &one})
	return err
}

// warnOfPlainHTTP says that a token goes over a network as it is.
func warnOfPlainHTTP(c *cli, server string) {
	if strings.HasPrefix(server, "http://") && !loopback(server) {
		fmt.Fprintf(c.env.Err, "Warning: %s is plain http: whoever is on the way can read the token. Use https.\n", server)
	}
}

func logoutCommand(c *cli) *cobra.Command {
	return &cobra.Command{
		Use: "logout", Args: cobra.NoArgs, Short: "Forget the tokens of a context",
		Long: "Forgets the current context, or that of --context, with its tokens. They stay good until they are\n" +
			"revoked in the browser under Settings, Tokens.",
		RunE: func(*cobra.Command, []string) error {
			cfg, err := c.env.loadConfig()
			if err != nil {
				return err
			}
			return removeContext(c, cfg, cmp.Or(c.context, cfg.Current))
		},
	}
}

func versionCommand(c *cli) *cobra.Command {
	var onlyClient bool
	cmd := &cobra.Command{
		Use: "version", Args: cobra.NoArgs, Short: "Versions of this command and of the server", Annotations: calls("getVersion"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if onlyClient {
				fmt.Fprintln(c.env.Out, "fleet", client.Describe())
				return nil
			}
			at, err := c.target()
			if err != nil {
				return err
			}
			to, err := dial(at.server, "")
			if err != nil {
				return err
			}
			got, err := to.GetVersionWithResponse(cmd.Context())
			if err != nil {
				fmt.Fprintln(c.env.Err, "fleet", client.Describe())
				return err
			}
			if got.StatusCode() != http.StatusOK || got.JSON200 == nil {
				return fail(exitFailure, "%s is no Fleetboard server: it answered %s", at.server, got.Status())
			}
			return c.show(got.Body, func(w io.Writer) {
				fmt.Fprintf(w, "fleet %s\nserver %s (API %s, schema %d) at %s\n", client.Describe(),
					cleanLine(got.JSON200.Server), cleanLine(got.JSON200.API), got.JSON200.Schema, at.server)
			})
		},
	}
	cmd.Flags().BoolVar(&onlyClient, "client", false, "ask no server")
	return cmd
}
