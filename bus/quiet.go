package bus

import _ "unsafe" // for go:linkname

// serverStat is the file from which the embedded nats-server's code reads what its
// process uses, once a second from the moment that it is linked, a server or not, and
// for figures that steady never asks for. It gives up for good when it can't.
//
//go:linkname serverStat github.com/nats-io/nats-server/v2/server/pse.procStatFile
var serverStat string

// Quiet ends what the server's code does in a process that has no server. In one that
// measures others that is a sixth of the cost: a wake-up a second.
func Quiet() { serverStat = "" }
