# One row of Markdown per benchmark: jq -r -f bench/jmh.jq metaroce-bench/target/jmh.json
def figure: . * 100 | round / 100;
.[] | .secondaryMetrics as $more | [
  (.benchmark | split(".")[-2:] | join(".") | sub("Benchmark"; "")),
  (.params // {} | to_entries | map("\(.key) \(.value)") | join(", ")),
  (if $more.bytes then "\($more.bytes.score | figure) GB/s" else "\(.primaryMetric.score | figure) ns" end),
  ($more["gc.alloc.rate.norm"].score | figure)] | "| \(join(" | ")) |"
