"""What a model is asked: prompt families, templates, sampling."""
