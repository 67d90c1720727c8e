package loaders

import (
	"strings"

	"github.com/steadybench/steady/outputs"
)

// ReadIperf3 reads the output of iperf3 (outputs.Iperf3): documents (-J), events
// (--json-stream) or text, of one test or several behind one another. name stands in
// errors, which refuse the file whole, with line or byte and cause; with Salvage a
// document that is cut off is read up to there.
//
// A test that iperf3 ended with an error, which -J tells only inside, is Incomplete, and
// Failed if nothing was measured.
func ReadIperf3(name, text string, o ForeignOptions) ([]*Foreign, error) {
	again := false // what the test printed before comes in another form
	return readLoads("iperf3", name, text, o, func(line string) bool {
		switch {
		case strings.HasPrefix(line, `{"event":"start"`), strings.HasPrefix(line, "Connecting to host "):
			again = line[0] == '{' // --json-stream-full-output ends with the document
			return true
		case strings.HasPrefix(line, "Server output:"): // --get-server-output
			again = true
		case line == "{", strings.HasPrefix(line, `{"start"`), strings.HasPrefix(line, "Accepted connection from "):
			return !again
		}
		return false
	}, func() outputs.Parser { return &outputs.Iperf3{} })
}
