"""Proofs of treatments: by plans and buffers on a twin, by blocks of trials there, or by the study of a pathology."""
