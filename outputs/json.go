package outputs

import "bytes"

// repair replaces numbers that C prints and JSON lacks (nan, -nan, inf, -inf) by null,
// outside of strings. repaired reports whether there were any.
func repair(text []byte) (out []byte, repaired bool) {
	if !bytes.Contains(text, []byte("nan")) && !bytes.Contains(text, []byte("inf")) {
		return text, false
	}
	inString := false
	for i := 0; i < len(text); {
		c := text[i]
		if inString {
			out = append(out, c)
			i++
			if c == '\\' && i < len(text) {
				out = append(out, text[i])
				i++
			}
			inString = c != '"'
			continue
		}
		if n := len(notJSON(text[i:])); n > 0 {
			out = append(out, "null"...)
			repaired = true
			i += n
			continue
		}
		inString = c == '"'
		out = append(out, c)
		i++
	}
	return out, repaired
}

// notJSON returns the nan or inf that text begins with, empty if there is none.
func notJSON(text []byte) []byte {
	word := bytes.TrimPrefix(text, []byte("-"))
	for _, w := range []string{"nan", "inf"} {
		if bytes.HasPrefix(word, []byte(w)) && (len(word) == 3 || bytes.IndexByte([]byte(",}] \t\r\n"), word[3]) >= 0) {
			return text[:len(text)-len(word)+3]
		}
	}
	return nil
}
