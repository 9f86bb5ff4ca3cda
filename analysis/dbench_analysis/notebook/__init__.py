"""The functions that `import dbench_analysis` offers to notebooks and scripts."""
