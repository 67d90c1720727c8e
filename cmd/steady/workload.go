package main

import (
	"github.com/spf13/cobra"

	"github.com/steadybench/steady/collector/workload"
)

// workload are the processes that the built-in workloads need.
func (a *app) workload() *cobra.Command {
	c := &cobra.Command{Use: "workload", Short: "processes of the built-in workloads"}
	var o workload.ServerOptions
	server := &cobra.Command{
		Use:   "http-server",
		Short: "answer every request with 1 KB of text",
		Args:  args(0),
		RunE: func(c *cobra.Command, _ []string) error {
			return workload.Serve(c.Context(), o, workload.Announce(a.stdout))
		},
	}
	server.Flags().StringVar(&o.Addr, "addr", "127.0.0.1:0", "address")
	server.Flags().BoolVar(&o.Gzip, "gzip", false, "compress every answer anew")
	c.AddCommand(server)
	return c
}
