"""Reads run folders with the documented readers and prints what they saw as JSON.

usage: read_runs.py DATA

DuckDB and polars read DATA/runs/**/TABLE.parquet as one table, with the folders' keys
as columns; pandas and pyarrow read file by file. Facts of each reader, by table:

    types     column to type, as the reader names it
    rows      of all files
    sums      column to the sum of its known numbers, as text
    nulls     column to how many rows are null, zeros the same for 0
    keys      what the columns of the folders' keys hold, sorted
"""

import glob
import json
import os
import re
import sys
import warnings

import duckdb
import pandas
import polars
import pyarrow
import pyarrow.parquet

KEYS = ["experiment", "system", "scenario", "run"]
NUMBERS = ("int64", "double", "float64", "BIGINT", "DOUBLE", "Int64", "Float64")


def number(x):
    """Returns a sum as text that is alike for all readers: integers stay integers."""
    return str(int(x)) if float(x).is_integer() else repr(round(float(x), 6))


def with_duckdb(pattern):
    con = duckdb.connect()
    con.execute("SET TimeZone = 'UTC'")
    con.execute(
        f"CREATE VIEW t AS SELECT * FROM read_parquet('{pattern}', hive_partitioning=true, union_by_name=true)"
    )
    types = {r[0]: r[1] for r in con.execute("DESCRIBE t").fetchall()}
    out = {"types": types, "sums": {}, "nulls": {}, "zeros": {}, "keys": {}}
    out["rows"] = con.execute("SELECT count(*) FROM t").fetchone()[0]
    for c, kind in types.items():
        if c in KEYS:
            got = con.execute(f'SELECT DISTINCT CAST("{c}" AS VARCHAR) FROM t').fetchall()
            out["keys"][c] = sorted(r[0] for r in got)
            continue
        out["nulls"][c] = con.execute(f'SELECT count(*) FROM t WHERE "{c}" IS NULL').fetchone()[0]
        if kind in NUMBERS:
            out["sums"][c] = number(con.execute(f'SELECT coalesce(sum("{c}"), 0) FROM t').fetchone()[0])
            out["zeros"][c] = con.execute(f'SELECT count(*) FROM t WHERE "{c}" = 0').fetchone()[0]
    return out


def with_polars(pattern):
    t = polars.scan_parquet(pattern, hive_partitioning=True).collect()
    out = {"types": {c: str(d) for c, d in t.schema.items()}, "rows": t.height}
    out.update({"sums": {}, "nulls": {}, "zeros": {}, "keys": {}})
    for c, kind in out["types"].items():
        if c in KEYS:
            out["keys"][c] = sorted(str(v) for v in t[c].unique())
            continue
        out["nulls"][c] = t[c].null_count()
        if kind in NUMBERS:
            out["sums"][c] = number(t[c].sum())
            out["zeros"][c] = int((t[c] == 0).sum())
    return out


def with_pandas(files):
    # With its own nullable types, so that an integer with nulls stays one.
    parts = [pandas.read_parquet(f, dtype_backend="numpy_nullable", partitioning=None) for f in files]
    t = pandas.concat(parts, ignore_index=True)
    out = {"types": {c: str(d) for c, d in t.dtypes.items()}, "rows": len(t)}
    out.update({"sums": {}, "nulls": {}, "zeros": {}})
    for c, kind in out["types"].items():
        out["nulls"][c] = int(t[c].isna().sum())
        if kind in NUMBERS:
            out["sums"][c] = number(t[c].sum())
            out["zeros"][c] = int((t[c] == 0).sum())
    return out


def with_pyarrow(files):
    # ParquetFile, which makes no columns of folders.
    parts = [pyarrow.parquet.ParquetFile(f).read() for f in files]
    for p in parts[1:]:
        if not p.schema.equals(parts[0].schema):
            raise ValueError("files of one table differ in their schema")
    t = pyarrow.concat_tables(parts)
    out = {"types": {f.name: str(f.type) for f in t.schema}, "rows": t.num_rows}
    out["metadata"] = {
        f.name: {k.decode(): v.decode() for k, v in (f.metadata or {}).items()} for f in t.schema
    }
    out["steady.schema"] = b"steady.schema" in pyarrow.parquet.read_metadata(files[0]).metadata
    out.update({"sums": {}, "nulls": {}, "zeros": {}})
    for c, kind in out["types"].items():
        out["nulls"][c] = t[c].null_count
        if kind in NUMBERS:
            values = [v for v in t[c].to_pylist() if v is not None]
            out["sums"][c] = number(sum(values))
            out["zeros"][c] = sum(v == 0 for v in values)
    return out


def main(data):
    warnings.simplefilter("error")  # a reader that warns is not satisfied
    tables = {}
    found = sorted(glob.glob(os.path.join(data, "runs", "*", "*", "*", "*", "*.parquet")))
    for name in sorted({os.path.basename(f).removesuffix(".parquet") for f in found}):
        files = [f for f in found if os.path.basename(f) == name + ".parquet"]
        pattern = os.path.join(data, "runs", "**", name + ".parquet")
        tables[name] = {
            "duckdb": with_duckdb(pattern),
            "polars": with_polars(pattern),
            "pandas": with_pandas(files),
            "pyarrow": with_pyarrow(files),
        }
    json.dump(tables, sys.stdout, indent=1, sort_keys=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(re.search(r"usage: .*", __doc__).group())
    main(sys.argv[1])
