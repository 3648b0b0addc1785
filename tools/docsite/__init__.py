"""The documentation site: pages of docs/, pages made from the code, and the order that they are shown in."""
