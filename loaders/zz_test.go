package loaders
import ("testing";"os";"fmt";"path/filepath";"time";"strings";"github.com/steadybench/steady/schemas")
func TestZZ(t *testing.T){
 read:=map[string]func(string,string,ForeignOptions)([]*Foreign,error){"perf":ReadPerf,"nginx-wrk":ReadWrk,"sysbench":ReadSysbench,"iperf3":ReadIperf3}
 only:=os.Getenv("ZZ"); verbose:=os.Getenv("ZZV")!=""
 for dir,f:=range read{
  files,_:=filepath.Glob("/work/shared/corpus/"+dir+"/*")
  for _,p:=range files{
   if only!=""&&!strings.Contains(p,only){continue}
   b,_:=os.ReadFile(p)
   fs,err:=f(filepath.Base(p),string(b),ForeignOptions{Zone:time.UTC})
   fmt.Printf("== %s/%s: ",dir,filepath.Base(p))
   if err!=nil{fmt.Println("REFUSED",err);continue}
   for _,x:=range fs{
    var ops,errs,ns float64;n:=0;q:=map[string]int{};blocks:=0;sum:=0
    for _,tk:=range x.Boots[0]{ blocks+=len(tk.Blocks); for _,r:=range tk.Rows{
      switch r.Table{
      case &schemas.Workload: n++; ops+=r.Cells[2].Float; errs+=float64(r.Cells[3].Int); ns+=float64(r.IntervalNS)
      case &schemas.Quality: q[r.Cells[3].Text]++
      case &schemas.Summary: sum++}
      if verbose { fmt.Printf("\n   %s %q [%.6f %.6f]",r.Table.Name,r.Device,float64(r.BootNS-r.IntervalNS)/1e9,float64(r.BootNS)/1e9); for i,c:=range r.Cells{ if c.Known{ fmt.Printf(" %s=%v",r.Table.Columns[i].Name, func()any{ switch{case c.Text!="":return c.Text; case c.Bytes!=nil: return fmt.Sprint(len(c.Bytes)," B"); case c.Float!=0:return c.Float};return c.Int}())}}}
    }
    if verbose {for _,b:=range tk.Blocks{ fmt.Printf("\n   block %s %d/%d %v",b.Table.Name,b.IntervalNS,b.BootNS,b.Devices); for i,m:=range b.Table.Stored(){ for row:=range b.Devices{ if v:=b.Rates[row*len(b.Table.Stored())+i]; v==v {fmt.Printf(" %s[%s]=%g",m.Name,b.Devices[row],v)}}}}}
    }
    fmt.Printf("\n     run=%q start=%v dur=%.6f rows=%d ops=%.2f errs=%.0f s=%.4f rate=%.3f blocks=%d summary=%d quality=%v phases=%v\n     facts=%v params=%v\n     WARN %q\n     INC %q FAILED %q\n",x.Run,x.Start,float64(x.DurationNS)/1e9,n,ops,errs,ns/1e9,ops/(ns/1e9),blocks,sum,q,x.Phases,x.Facts,x.Params,x.Warnings,x.Incomplete,x.Failed)
   }
  }
 }
}
