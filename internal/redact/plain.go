package redact

import (
	"bytes"
	"encoding/hex"
	"html"
	"strconv"
	"strings"
)

const (
	// minPlain is the length of the shortest plain form that is looked for, in bytes:
	// what separates words is not in it, so that shorter ones stand in every text.
	minPlain = 6
	// maxEntity is the length of the longest HTML entity that is read.
	maxEntity = 12
	// layers is how many kinds of escapes are read that lie in one another, as JSON in an
	// address.
	layers = 3
)

// plain is a text without what programs put around it or between: each escape of JSON,
// of a shell, of HTML and of an address is the character that it stands for, however
// often it was escaped, and quotes, white space and backslashes are left out. So a value
// that was wrapped, indented, quoted or escaped reads as it does by itself.
type plain struct {
	text []byte
	at   []int32 // where in the text each byte begins
	end  []int32 // and where it ends
}

// makePlain reads a text a few times at most, each time from its beginning to its end.
func makePlain(text string) plain {
	p := plain{text: []byte(text), at: make([]int32, len(text)), end: make([]int32, len(text))}
	for i := range len(text) {
		p.at[i], p.end[i] = int32(i), int32(i+1)
	}
	for range layers {
		if !bytes.ContainsAny(p.text, `\%&`) {
			break
		}
		p = p.unescaped()
	}
	n := 0
	for i, c := range p.text {
		if !dropped(c) {
			p.text[n], p.at[n], p.end[n] = c, p.at[i], p.end[i]
			n++
		}
	}
	return plain{p.text[:n], p.at[:n], p.end[:n]}
}

// written are parts of the plain text in the text that it was read from.
func (p plain) written(parts []span) []span {
	for i, part := range parts {
		parts[i] = span{int(p.at[part.from]), int(p.end[part.to-1])}
	}
	return parts
}

// unescaped returns the text with one layer of escapes less.
func (p plain) unescaped() plain {
	text := string(p.text)
	out := plain{make([]byte, 0, len(text)), make([]int32, 0, len(text)), make([]int32, 0, len(text))}
	for i := 0; i < len(text); {
		piece, n := unescaped(text[i:])
		for j := range len(piece) {
			out.text = append(out.text, piece[j])
			out.at, out.end = append(out.at, p.at[i]), append(out.end, p.end[i+n-1])
		}
		i += n
	}
	return out
}

// dropped are the bytes that carry no part of a value: + stands for a space in an
// address, = for a wrapped line in a mail.
func dropped(c byte) bool { return c <= ' ' || c == 0x7f || strings.IndexByte(`'"\+=`+"`", c) >= 0 }

// unescaped returns what a text begins with, and how many bytes stand for it.
func unescaped(text string) (piece string, n int) {
	switch text[0] {
	case '\\':
		return afterBackslashes(text)
	case '%':
		i := 1
		for strings.HasPrefix(text[i:], "25") {
			i += 2
		}
		for ; i >= 1; i -= 2 { // %25 may be the escape itself
			if c, ok := oneByte(text, i, 2, 16); ok {
				return string([]byte{c}), i + 2
			}
		}
	case '&':
		i := 1
		for strings.HasPrefix(text[i:], "amp;") {
			i += len("amp;")
		}
		name := text[i:min(i+maxEntity, len(text))]
		if semicolon := strings.IndexByte(name, ';'); semicolon > 0 && !strings.Contains(name[:semicolon], "&") {
			entity := "&" + name[:semicolon+1]
			if piece = html.UnescapeString(entity); piece != entity {
				return piece, i + semicolon + 1
			}
		}
		if i > 1 {
			return "&", i
		}
	}
	return text[:1], 1
}

// afterBackslashes reads an escape of JSON, Go, C or a shell.
func afterBackslashes(text string) (piece string, n int) {
	i := 1
	for i < len(text) && text[i] == '\\' {
		i++
	}
	if i == len(text) {
		return "", i
	}
	switch c := text[i]; c {
	case 'n', 'r', 't', 'b', 'f', 'v', 'a':
		return "", i + 1
	case 'u', 'U':
		return codePoint(text, i)
	case 'x':
		if v, ok := oneByte(text, i+1, 2, 16); ok {
			return string([]byte{v}), i + 3
		}
	case '0', '1', '2', '3':
		if v, ok := oneByte(text, i, 3, 8); ok {
			return string([]byte{v}), i + 3
		}
	}
	return "", i
}

// codePoint reads \u00e9, \u{e9}, \U000000e9 and a pair of halves, from the letter on.
func codePoint(text string, i int) (piece string, n int) {
	if end := strings.IndexByte(text[i:min(i+10, len(text))], '}'); end > 0 && text[i+1] == '{' {
		if v, err := strconv.ParseUint(text[i+2:i+end], 16, 21); err == nil {
			return string(rune(v)), i + end + 1
		}
	}
	width := 4
	if text[i] == 'U' {
		width = 8
	}
	v, ok := number(text, i+1, width, 16)
	if !ok {
		return "", i
	}
	i += 1 + width
	if v>>10 == 0xd800>>10 {
		j := i
		for j < len(text) && text[j] == '\\' && j < i+maxEntity {
			j++
		}
		if low, ok := number(text, j+1, 4, 16); ok && j > i && text[j] == 'u' && low>>10 == 0xdc00>>10 {
			return string(rune((v-0xd800)<<10 + low - 0xdc00 + 0x10000)), j + 5
		}
	}
	return string(rune(v)), i //nolint:gosec // at most 32 bits; what is no character becomes one that is
}

// oneByte reads a number that stands for a byte.
func oneByte(text string, from, digits, base int) (byte, bool) {
	v, ok := number(text, from, digits, base)
	return byte(v & 0xff), ok && v <= 0xff
}

func number(text string, from, digits, base int) (uint64, bool) {
	if from+digits > len(text) {
		return 0, false
	}
	v, err := strconv.ParseUint(text[from:from+digits], base, 64)
	return v, err == nil && text[from] != '+'
}

// plainForms returns what a value may look like in a plain text: by itself, and as programs
// write bytes in lines of letters.
func plainForms(text string) []string {
	var list []string
	bytesHex := hex.EncodeToString([]byte(text))
	for _, form := range append(base64Forms(text), text, bytesHex, strings.ToUpper(bytesHex)) {
		list = append(list, string(makePlain(form).text))
	}
	return list
}
