package main

import (
	"github.com/spf13/cobra"

	"github.com/steadybench/steady/collector/workload"
)

// workload are the processes that the built-in workloads need.
func (a *app) workload() *cobra.Command {
	c := &cobra.Command{Use: "workload", Short: "processes of the built-in workloads"}
	var o workload.ServerOptions
	var cpus []int
	server := &cobra.Command{
		Use:   "http-server",
		Short: "answer every request with 1 KB of text",
		Args:  args(0),
		RunE: func(c *cobra.Command, _ []string) error {
			if len(cpus) > 0 {
				if err := workload.Pin(cpus); err != nil {
					return err
				}
			}
			return workload.Serve(c.Context(), o, workload.Announce(a.stdout))
		},
	}
	server.Flags().StringVar(&o.Addr, "addr", "127.0.0.1:0", "address")
	server.Flags().BoolVar(&o.Gzip, "gzip", false, "compress every answer anew")
	server.Flags().IntSliceVar(&cpus, "cpus", nil, "CPUs to run on (default: all)")
	c.AddCommand(server)
	return c
}
