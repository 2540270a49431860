"""What processes that draw figures and make PDFs import before they start."""

from importlib import import_module

from gpureport.report.pdf import pdf_problem

for name in ("gpureport.report.figures.picture", "matplotlib.backends.backend_svg", "seaborn"):
    import_module(name)
pdf_problem()  # imports WeasyPrint where it can
