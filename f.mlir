module attributes {rt.attentions = 0 : i64} {
}

