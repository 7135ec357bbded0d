package cli

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fleetboard/fleetboard/api"
)

func issuerCommand(c *cli) *cobra.Command {
	return group("issuer", "Issuers whose tokens register agents, so that pods and runners need no secret",
		append(c.verbsBelow("issuer"), issuerSet(c), issuerEnrol(c))...)
}

func issuerSet(c *cli) *cobra.Command {
	var rule api.IssuerRule
	var claims, products, capabilities, roles []string
	var factory string
	var submit bool
	cmd := c.command("set ISSUER", "Trust an issuer, or replace what its tokens have to say", "putIssuer")
	cmd.Long = "Trusts an issuer of tokens. A token has to name the issuer and the audience, and say each --claim exactly; there are\n" +
		"no wildcards. Another rule has another id, and cuts off the agents of the one before."
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		rule.Claims = []api.IssuerClaim{}
		for _, text := range claims {
			name, value, ok := strings.Cut(text, "=")
			if !ok {
				return fail(exitUsage, "--claim must be NAME=VALUE, such as repository_id=1296269")
			}
			rule.Claims = append(rule.Claims, api.IssuerClaim{Claim: name, Value: value})
		}
		rule.Products, rule.Capabilities, rule.Roles = list(products), list(capabilities), list(roles)
		rule.Factory, rule.MaySubmit = some(factory), flagValue(cmd, "may-submit", submit)
		server, err := c.connect()
		if err != nil {
			return err
		}
		return answer(c, printIssuer)(server.PutIssuer(cmd.Context(), args[0], rule))
	}
	flags := cmd.Flags()
	flags.StringVar(&rule.URL, "url", "", "`address` of the issuer, exactly as its tokens name it")
	flags.StringVar(&rule.Audience, "audience", "", "for `whom` a token has to be made")
	flags.StringArrayVar(&claims, "claim", nil, "`name=value` that a token has to say; repeatable")
	flags.StringArrayVar(&products, "product", nil, "`name` of a product whose jobs its agents get; repeatable, all by default")
	flags.StringArrayVar(&capabilities, "capability", nil, "`capability` that its agents may offer; repeatable, all by default")
	flags.StringVar(&factory, "factory", "", "`name` of the only factory that its agents work in")
	flags.StringArrayVar(&roles, "role", nil, "`role` that its agents may have; repeatable")
	flags.BoolVar(&submit, "may-submit", false, "its agents may create jobs")
	return cmd
}

func issuerEnrol(c *cli) *cobra.Command {
	var in api.WorkloadEnrolment
	var file, factory, model string
	var repos []string
	cmd := c.command("enrol AGENT", "Register an agent by the token of its platform, and print the agent's token", "enrolWorkload")
	cmd.Long = "Registers an agent by the token that Kubernetes, GitHub Actions or GitLab gave this pod or runner, and prints the token\n" +
		"of the agent, which is good for an hour. The server needs no secret of yours, and you none of the server's."
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		raw, err := c.fileOrIn(file)
		if err != nil {
			return err
		}
		at, err := c.target()
		if err != nil {
			return err
		}
		server, err := dial(at.server, "")
		if err != nil {
			return err
		}
		host, err := os.Hostname()
		if err != nil {
			return err
		}
		if factory == "" {
			factory = plainName(args[0])
		}
		in.Agent, in.Token = args[0], strings.TrimSpace(string(raw))
		in.Registration = api.Registration{BootID: random(), Model: some(model), Factory: api.FactoryInfo{Name: factory, Host: some(host)}}
		if len(repos) > 0 {
			have := make([]api.Repo, 0, len(repos))
			for _, name := range repos {
				have = append(have, api.Repo{Name: name})
			}
			in.Registration.Factory.Repos = &have
		}
		return answer(c, func(_ *screen, w io.Writer, reply api.Registered) { fmt.Fprintln(w, reply.Token) })(
			server.EnrolWorkload(cmd.Context(), in))
	}
	flags := cmd.Flags()
	flags.StringVar(&in.Issuer, "issuer", "", "`id` of the trusted issuer, as `fleet issuer show` prints it")
	flags.StringVar(&file, "token-file", "-", "`file` with the platform's token; - is stdin")
	flags.StringVar(&factory, "factory", "", "`name` of the factory; by default that of the agent")
	flags.StringVar(&model, "model", "", "`name` of the model that works")
	flags.StringArrayVar(&repos, "repo", nil, "`name` of a repository that is here; repeatable")
	return cmd
}

func printIssuers(s *screen, w io.Writer, reply api.TrustedIssuerList) {
	if len(reply.Items) == 0 {
		fmt.Fprintln(w, "No issuer is trusted. `fleet issuer set` trusts one.")
		return
	}
	t := s.table("NAME", "ISSUER", "AUDIENCE", "ID", "USED").narrows("ISSUER")
	for _, i := range reply.Items {
		t.row(i.Name, i.URL, i.Audience, i.ID.String(), s.agoOrEmpty(i.LastUsedAt))
	}
	t.print(w)
}

func printIssuer(s *screen, w io.Writer, i api.TrustedIssuer) {
	fmt.Fprintln(w, cleanLine(i.Name))
	out := facts{w}
	out.line("id", i.ID.String())
	out.line("issuer", i.URL)
	out.line("audience", i.Audience)
	for _, one := range i.Claims {
		out.line("claim", one.Claim+"="+one.Value)
	}
	out.line("products", strings.Join(i.Products, ", "))
	out.line("capabilities", strings.Join(i.Capabilities, ", "))
	out.line("factory", i.Factory)
	out.line("used", s.agoOrEmpty(i.LastUsedAt))
	if !i.Live {
		out.line("state", "revoked")
	}
}
