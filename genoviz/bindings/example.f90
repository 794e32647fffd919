! Breeding values of the samples of a file of genotypes, by GBLUP.
!
!   gfortran genoviz.f90 example.f90 -L. -lgenoviz -Wl,-rpath,. -o example
!   ./example lines.bed yield.txt        (a phenotype a line, nan where there is none)
program example
  use, intrinsic :: iso_c_binding, only: c_double
  use genoviz
  implicit none
  type(genotypes) :: lines
  real(c_double), allocatable :: yield(:), values(:)
  character(len=4096) :: path, phenotypes
  integer :: file

  call get_command_argument(1, path)
  call get_command_argument(2, phenotypes)
  call lines%open(path)
  allocate (yield(lines%n_samples))
  open (newunit=file, file=trim(phenotypes), status='old')
  read (file, *) yield
  close (file)

  call lines%put('phenotype', yield)
  call lines%solve('method=GBLUP heritability=0.5')
  call lines%get('breeding_values', values)
  print '(f0.9)', values
  call lines%close()
end program
