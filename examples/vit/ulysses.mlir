// Ulysses for ViT (DeepSpeed, Jacobs et al. 2023): the tokens are sharded everywhere but inside attention, where the
// heads are. They come from an image, of which each rank embeds all; `scatter` leaves each rank its part of the tokens,
// which sends nothing. Four all_to_all a layer change between the two, each of (p-1)/p of what a rank holds (of 17
// tokens 5).

dist.mesh @m ["sp" = 4]

dist.schedule @ulysses on @m {
  dist.sync "vit.embeddings" fwd_post scatter dim 1 over "sp"

  dist.sync "vit.layers.*.attention.{q,k,v}_proj" fwd_post all_to_all dim 1 to 2 over "sp"
  dist.sync "vit.layers.*.attention.o_proj" fwd_pre all_to_all dim 2 to 1 over "sp"
}
