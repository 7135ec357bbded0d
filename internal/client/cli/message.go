package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fleetboard/fleetboard/api"
)

func messageCommand(c *cli) *cobra.Command {
	return group("msg", "Messages between agents and people", append(c.verbsBelow("msg"), messageSend(c), messageAck(c), messageWatch(c),
		group("dead", "Messages that an inbox gave up", c.verbsBelow("dead")...))...)
}

// draft is a message as flags say it.
type draft struct {
	to, kind, job, thread, reply, payload, id string
}

func messageSend(c *cli) *cobra.Command {
	var d draft
	cmd := &cobra.Command{Use: "send TEXT...", Short: "Send a message to an agent, a role, a factory, a person or all agents",
		Annotations: calls("sendMessage"), Args: cobra.ArbitraryArgs,
		Long: "Sends a message. The text becomes the payload {\"text\": ...}, - is what comes on stdin; --payload sends an object of\n" +
			"your own instead. --to is agent:NAME, role:NAME, factory:NAME, person:MAIL or all. The server keeps a payload of more\n" +
			"than 4,096 bytes as a blob, which `fleet blob get` reads."}
	cmd.RunE = callAndPrint(c, func(ctx context.Context, server *api.Client, args []string) (*http.Response, error) {
		if len(args) == 1 && args[0] == "-" {
			text, err := c.fileOrIn("-")
			if err != nil {
				return nil, err
			}
			args = []string{string(text)}
		}
		body, err := d.body(args)
		if err != nil {
			return nil, err
		}
		return server.SendMessage(ctx, body)
	}, func(_ *screen, w io.Writer, m api.Message) {
		fmt.Fprintf(w, "Sent to %s as %d, in the thread %s.\n", cleanLine(addressText(m.To)), m.Seq, cleanLine(m.CorrelationID))
	})
	flags := cmd.Flags()
	flags.StringVar(&d.to, "to", "", "whom it is for, as `address`: agent:ada, role:reviewer, factory:host, person:mail, all")
	flags.StringVar(&d.kind, "type", "custom.note", "`type` of the message")
	flags.StringVar(&d.job, "job", "", "`job` that it is about")
	flags.StringVar(&d.thread, "thread", "", "`thread` that it belongs to")
	flags.StringVar(&d.reply, "reply", "", "`id` of the message that it answers")
	flags.StringVar(&d.payload, "payload", "", "`JSON` object to send instead of a text")
	flags.StringVar(&d.id, "id", "", "`UUID` under which it is sent once, however often you send it")
	return cmd
}

// body returns the message as the API takes it.
func (d draft) body(args []string) (api.NewMessage, error) {
	server, err := parseAddress(d.to)
	if err != nil {
		return api.NewMessage{}, err
	}
	m := api.NewMessage{Type: d.kind, To: server, Job: some(d.job), CorrelationID: some(d.thread), InReplyTo: some(d.reply),
		ID: some(d.id)}
	switch {
	case d.payload != "" && len(args) > 0:
		return m, fail(exitUsage, "give a text or --payload, not both")
	case d.payload != "" && !json.Valid([]byte(d.payload)):
		return m, fail(exitUsage, "--payload must be a JSON object")
	case d.payload != "":
		m.Payload = json.RawMessage(d.payload)
	case len(args) == 0:
		return m, fail(exitUsage, "say something, or give --payload")
	default:
		m.Payload, err = json.Marshal(map[string]string{"text": strings.Join(args, " ")})
	}
	return m, err
}

// parseAddress reads an address: kind:name, or all.
func parseAddress(text string) (api.NewMessageAddress, error) {
	kind, name, _ := strings.Cut(text, ":")
	yes := true
	switch {
	case text == "all":
		return api.NewMessageAddress{All: &yes}, nil
	case name == "":
	case kind == "agent":
		return api.NewMessageAddress{Agent: &name}, nil
	case kind == "role":
		return api.NewMessageAddress{Role: &name}, nil
	case kind == "factory":
		return api.NewMessageAddress{Factory: &name}, nil
	case kind == "person":
		return api.NewMessageAddress{Person: &name}, nil
	}
	return api.NewMessageAddress{}, fail(exitUsage, "--to must be agent:NAME, role:NAME, factory:NAME, person:MAIL or all")
}

// addressText returns an address as it is read.
func addressText(a api.MessageAddress) string {
	if a.Name == "" {
		return string(a.Kind)
	}
	return string(a.Kind) + ":" + a.Name
}

func messageAck(c *cli) *cobra.Command {
	var only bool
	cmd := &cobra.Command{Use: "ack POSITION...", Args: cobra.MinimumNArgs(1), Annotations: calls("ackMessages"),
		Short: "Take messages that you were given out of your inbox, all up to a position or with --only single ones"}
	cmd.RunE = callAndPrint(c, func(ctx context.Context, server *api.Client, args []string) (*http.Response, error) {
		var seqs []int64
		for _, arg := range args {
			n, err := strconv.ParseInt(arg, 10, 64)
			if err != nil {
				return nil, fail(exitUsage, "%q is no position: `fleet msg watch` shows them", arg)
			}
			seqs = append(seqs, n)
		}
		if only {
			return server.AckMessages(ctx, api.MessageAck{Seqs: &seqs})
		}
		if len(seqs) > 1 {
			return nil, fail(exitUsage, "give one position, or --only with several")
		}
		return server.AckMessages(ctx, api.MessageAck{Seq: &seqs[0]})
	}, func(_ *screen, w io.Writer, reply api.MessagesAcked) {
		fmt.Fprintf(w, "%d acknowledged.\n", reply.Acked)
	})
	cmd.Flags().BoolVar(&only, "only", false, "these messages only")
	return cmd
}

// inboxWatch says how an inbox is watched.
type inboxWatch struct {
	ack   bool
	types []string
	after int64
}

func messageWatch(c *cli) *cobra.Command {
	var in inboxWatch
	cmd := &cobra.Command{Use: "watch", Args: cobra.NoArgs, Short: "Show what comes into your inbox, until you stop it",
		Annotations: calls("readMessages", "ackMessages"),
		Long: "Hands out the messages of your inbox and waits for more, also when the server was away meanwhile. With --ack each\n" +
			"is taken out once it was printed. --json prints one message in each line."}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return in.run(cmd.Context(), c) }
	cmd.Flags().BoolVar(&in.ack, "ack", false, "acknowledge what was printed")
	cmd.Flags().StringSliceVar(&in.types, "type", nil, "of this `type`; repeatable")
	return cmd
}

func (in inboxWatch) run(ctx context.Context, c *cli) error {
	server, err := c.connect()
	if err != nil {
		return err
	}
	return c.persist(ctx, func(ctx context.Context) error {
		wait, after := 50, in.after
		_, said, err := readInto[api.Inbox](server.ReadMessages(ctx,
			&api.ReadMessagesParams{WaitSeconds: &wait, After: &after, Types: list(in.types)}))
		if err != nil {
			return err
		}
		for _, m := range said.Items {
			if err := c.messageLine(m); err != nil {
				return err
			}
		}
		if in.ack && len(said.Items) > 0 {
			if _, err := read(server.AckMessages(ctx, api.MessageAck{Seqs: listSeqs(said.Items)})); err != nil {
				return err
			}
		}
		in.after = said.NextAfter
		return nil
	})
}

func listSeqs(items []api.Message) *[]int64 {
	seqs := make([]int64, 0, len(items))
	for _, m := range items {
		seqs = append(seqs, m.Seq)
	}
	return &seqs
}

func printFound(s *screen, w io.Writer, reply api.FoundMessages) {
	t := s.table("POSITION", "WHEN", "FROM", "TYPE", "THREAD", "PASSAGE").narrows("PASSAGE")
	for _, f := range reply.Items {
		passage := strings.NewReplacer("\x02", "", "\x03", "").Replace(f.Passage)
		t.row(f.Message.Seq, s.ago(f.Message.At), addressText(f.Message.From), f.Message.Type, f.Message.CorrelationID, passage)
	}
	t.print(w)
}

func printDeadLetters(s *screen, w io.Writer, reply api.DeadLetterList) {
	t := s.table("ID", "WHEN", "FROM", "TO", "TYPE", "ERROR").narrows("ERROR")
	for _, l := range reply.Items {
		t.row(l.Message.ID, s.ago(l.DeadAt), addressText(l.Message.From), addressText(l.Message.To), l.Message.Type, l.Error)
	}
	t.print(w)
}

func printInbox(s *screen, w io.Writer, reply api.Inbox) {
	printMessages(s, w, api.MessageList{Items: reply.Items})
}

func printMessages(s *screen, w io.Writer, reply api.MessageList) {
	t := s.table("POSITION", "WHEN", "FROM", "TO", "TYPE", "THREAD", "PAYLOAD").narrows("PAYLOAD")
	for _, m := range reply.Items {
		t.row(m.Seq, s.ago(m.At), addressText(m.From), addressText(m.To), m.Type, m.CorrelationID, payloadText(m))
	}
	t.print(w)
}

// messageLine prints a message: its position, when, who, what.
func (s *screen) messageLine(m api.Message) error {
	if s.json {
		return s.printRaw(m)
	}
	_, err := fmt.Fprintf(s.env.Out, "%d %s %s %s: %s\n", m.Seq, s.paint(m.At.Local().Format("2006-01-02 15:04:05"), dim),
		s.paint(cleanLine(addressText(m.From)), blue), cleanLine(m.Type), cleanLine(payloadText(m)))
	return err
}

// payloadText returns a payload in a line: its text where it has one.
func payloadText(m api.Message) string {
	var reply struct{ Text string }
	switch {
	case json.Unmarshal(m.Payload, &reply) == nil && reply.Text != "":
		return reply.Text
	case m.Blob != "":
		return "blob " + m.Blob
	}
	return string(m.Payload)
}
