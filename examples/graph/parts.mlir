// A graph in parts: each rank has the nodes of its part, and the edges that lead to them. Messages come from nodes of
// other parts as well: those at cut edges are exchanged, and no others.
dist.mesh @m ["gp" = 4]

dist.schedule @parts on @m {
  dist.shard input "x" [{"gp"}, {}]
  dist.shard input "edge_index" [{}, {"gp"}]
  dist.shard input "edges" [{"gp"}, {}]
  dist.shard output "y" [{"gp"}, {}]
  dist.graph_halo "layers.*" over "gp"
}
