"""What must survive translation: placeholders, glossary terms, tags, emoji."""
