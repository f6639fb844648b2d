"""What sections are drawn with: ticks of axes, columns, links, colours."""
